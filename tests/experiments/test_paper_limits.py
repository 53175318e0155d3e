"""A foreign paper's folder writes nothing outside its results, ends, and blocks nothing."""

from __future__ import annotations

import contextlib
import shutil
import time
from pathlib import Path

import numpy as np
import pytest

from sojourn.cli import main
from sojourn.core.errors import Note, UserError
from sojourn.experiments import find_experiments, load_experiment
from sojourn.experiments.expression import LONGEST, evaluate
from tests.experiments.test_paper_folder import CLAIMS, EXTRA, PAPER, ROOT

BAD_NAMES = [
    "../x",
    "/tmp/x",
    "a/b",
    "a\\\\b",
    "..",
    ".",
    "",
    ".hidden",
    "a.",
    "con",
    "NUL.txt",
    "a\\u0000b",
    "a b",
    "ä",
    "x" * 101,
]


@pytest.fixture
def folder(here: Path) -> Path:
    """A paper's folder below `papers`, in the working directory."""
    root = here / "papers" / "mine-2026"
    (root / "scenarios").mkdir(parents=True)
    shutil.copy(ROOT / "examples" / "dumbbell.toml", root / "scenarios" / "base.toml")
    for name, text in (("experiment.toml", PAPER), ("claims.toml", CLAIMS), ("extra.py", EXTRA)):
        (root / name).write_text(text)
    return root


def change(folder: Path, old: str, new: str, name: str = "experiment.toml") -> None:
    text = (folder / name).read_text()
    assert old in text
    (folder / name).write_text(text.replace(old, new))


@pytest.mark.parametrize("name", BAD_NAMES)
@pytest.mark.parametrize("old", ['id = "mine-2026"', 'id = "own"', "[grids.one]"])
def test_a_name_that_is_no_plain_name_is_refused(folder, name, old):
    new = f'[grids."{name}"]' if old.startswith("[") else f'id = "{name}"'
    change(folder, old, new)
    with pytest.raises(UserError, match=r"expected (a plain name|a TOML|one of)|not TOML") as error:
        load_experiment(folder)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["cache", "Index.html"])
def test_a_paper_that_would_take_the_place_of_something_else_in_the_results_is_refused(folder, name):
    change(folder, 'id = "mine-2026"', f'id = "{name}"')
    with pytest.raises(UserError, match="expected a name that nothing else in the folder of results has, got"):
        load_experiment(folder)


@pytest.mark.parametrize("name", ["../base.toml", "/etc/passwd", "scenarios/../../x.toml", "a\\u0000b", ""])
def test_a_file_outside_the_folder_is_refused(folder, name):
    change(folder, 'file = "scenarios/base.toml"', f'file = "{name}"')
    with pytest.raises(UserError, match="expected a file in the folder of the experiment"):
        load_experiment(folder)


def outside(here: Path) -> list[Path]:
    """Every file that is not in the paper's folder, the results or the cache."""
    return [file for file in here.rglob("*") if file.is_file() and file.relative_to(here).parts[0] == "elsewhere"]


@pytest.mark.parametrize("link", ["results/mine-2026", "results/mine-2026/figures", "results/mine-2026/tables"])
def test_links_in_the_results_lead_nowhere(folder, here, capsys, link):
    (here / "elsewhere").mkdir()
    (here / link).parent.mkdir(parents=True)
    (here / link).symlink_to(here / "elsewhere")
    assert main(["reproduce", "mine-2026", "--seeds", "1"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not outside(here)


def test_a_link_that_comes_with_the_paper_is_not_followed(folder, here, capsys, monkeypatch):
    (here / "elsewhere").mkdir()
    (folder / "results").symlink_to(here / "elsewhere")
    monkeypatch.chdir(folder)
    assert main(["reproduce", ".", "--seeds", "1", "--no-cache"]) == 2
    assert "expected a folder in results" in capsys.readouterr().err
    assert not outside(here)


@pytest.mark.parametrize(
    "text",
    [
        "10**400 + 1" + "0" * 400,
        "abs('x')",
        "min('x')",
        "met('x')",
        "1" * 5000,
        "9" * 400,
        "(" * 900 + "1" + ")" * 900,
        "-" * 1900 + "1",
        "1" + "+1" * 1500,
        "exp('a', 2)",
        "max(1, 'x')",
        "f()",
        "1 +",
        "\0",
        "a\nb",
    ],
)
def test_an_expression_that_cannot_be_computed_is_refused_in_one_line(text):
    with pytest.raises(UserError) as error:
        evaluate(text, lambda _: 1.0)
    assert len(str(error.value)) < 2 * LONGEST


def test_numbers_are_those_of_measurements():
    assert np.isinf(evaluate("0**-1", lambda _: 1.0))
    assert np.isinf(evaluate("10**400", lambda _: 1.0))
    assert np.isnan(evaluate("(-1)**0.5", lambda _: 1.0))


def test_no_expression_takes_long():
    started = time.process_time()
    for text in ("9**" * 600 + "9", "+".join(["exp(exp(9))"] * 150), "max(" * 90 + "1" + ")" * 90):
        with contextlib.suppress(UserError):
            evaluate(text, lambda _: 1.0)
    assert time.process_time() - started < 60  # not a measurement: a computation without bound never ends


CURVE = "[curves.c]\nqueue = { aqm = 'red' }\n"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("[queues.droptail]", f"{CURVE}vary = {{ min = [[1], [2]] }}\n[queues.droptail]", "vary"),
        ("[queues.droptail]", f"{CURVE}vary = {{}}\n[queues.droptail]", "vary"),
        ("mean = { path", "queue = { path", "measures: expected names other than scenario, queue"),
        ("year = 2026", "year = 2026-01-01", "year"),
        ("year = 2026", f"year = {'9' * 5000}", ":8: expected a whole number"),
        ("year = 2026", f"year = {'[' * 5000}", "nested"),
        ("numbers = [1, 2]", "numbers = ['a', []]", "FIGURES: numbers: "),
    ],
)
def test_a_mistake_in_a_paper_is_one_line(folder, capsys, old, new, says):
    change(folder, old, new)
    assert main(["reproduce", str(folder), "--seeds", "1", "--no-cache"]) in (1, 2)
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert says in error


def test_combinations_are_bounded(folder):
    values = ", ".join(['"x"'] * 100)
    lists = ", ".join(f"l{i} = [{values}]" for i in range(9))
    old = 'parts = [{ measure = "half(8)"'
    change(folder, old, old.replace("measure", f"for = {{ {lists} }}, measure"), "claims.toml")
    with pytest.raises(UserError, match="expected at most 100000 combinations, got 1000000000000000000"):
        load_experiment(folder)


def test_a_broken_paper_blocks_no_other(folder, here, capsys):
    broken = folder.parent / "broken-2026"
    broken.mkdir()
    (broken / "experiment.toml").write_text("id = ")
    assert main(["reproduce", "mine-2026", "--seeds", "1", "--no-cache"]) == 0
    assert "broken" not in capsys.readouterr().err
    assert main(["reproduce", "broken-2026"]) == 2
    assert "broken-2026/experiment.toml:1:6: not TOML" in capsys.readouterr().err
    with pytest.warns(Note, match="broken-2026/experiment.toml:1:6: not TOML"):
        assert "mine-2026" in {experiment.id for experiment in find_experiments()}
