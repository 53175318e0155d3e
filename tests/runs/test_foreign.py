"""Names and texts in foreign files are only data.

They are never a path, a line of a file, a word of a command or a formula of a plot.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
import unicodedata
from pathlib import Path

import matplotlib as mpl
import pytest

import sojourn as sj
from sojourn.cli import main
from sojourn.core import files
from sojourn.core.errors import Note, RunError, UserError, one_line
from sojourn.core.files import write_atomic
from sojourn.core.foreign_names import file_name, shell_word
from sojourn.experiments.index import write_index
from sojourn.plots import style
from tests.runs.test_links import FLENT

pytestmark = pytest.mark.no_libraries

NAMES = [
    "../pwned/sub/config",
    "/etc/passwd",
    "..",
    ".",
    "",
    ".bashrc",
    "a/b",
    "a\\b",
    "con",
    "NUL.txt",
    "-rf",
    "a\nb",
    "a\0b",
    "\u202egnp.exe",
    "x" * 1000,
    "𝔸" * 1000,
    "~/x",
    "C:x",
    "$HOME",
    "\udcff",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_becomes_one_part_of_a_path(tmp_path: Path, name: str) -> None:
    made = file_name(name)
    assert (tmp_path / f"{made}-2.parquet").parent == tmp_path
    assert made[0] not in ".-~"
    assert made.casefold() not in ("con", "nul.txt")
    assert made.isprintable()
    write_atomic(tmp_path / f"{made}-2.parquet", "it can be written")


@pytest.mark.parametrize("name", NAMES)
def test_the_metadata_of_a_result_of_flent_choose_a_name_and_no_folder(here: Path, name: str) -> None:
    (here / "in").mkdir()
    (here / "in" / "m.flent").write_text(json.dumps(FLENT | {"metadata": {"NAME": name}}))
    os.chdir(here / "in")
    assert main(["import", "m.flent"]) == 0
    (made,) = (here / "in").glob("*.toml")
    assert {path.name for path in here.iterdir()} == {"in"}
    assert main(["check", str(made)]) == 0


def test_the_name_of_an_imported_file_adds_no_line_to_the_scenario(here: Path, capsys) -> None:
    name = 'x\n[build]\nrustc-wrapper = "evil"\n#\u2028\x85.flent'
    (here / name).write_text(json.dumps(FLENT))
    assert main(["import", name, "--out", "o.toml"]) == 0
    text = (here / "o.toml").read_text()
    assert set(tomllib.loads(text)) == {"name", "duration", "links", "tcp", "flows", "trace"}
    assert text.split("\n")[1] != "[build]"
    assert text.splitlines()[0].startswith(r'# From x\n[build]\nrustc-wrapper = "evil"\n#\u{2028}\u{85}.flent, by ')
    assert capsys.readouterr().out.count("\n") == 2


SHELLS = [
    "a b",
    "a;touch x",
    "$(touch x)",
    "`touch x`",
    "a'b",
    'a"b',
    "-rf",
    "a\nb",
    "a\\'b\u202e",
    "ü",
    "\udcff\udc80",
    "*",
]


@pytest.mark.parametrize("name", SHELLS)
def test_a_command_that_is_printed_names_the_file_in_one_word_of_one_line(tmp_path: Path, name: str) -> None:
    word = shell_word(name)
    assert one_line(word) == word
    script = f"printf '%s\\0' {word}"
    said = subprocess.run(["bash", "-c", script.encode()], cwd=tmp_path, capture_output=True, check=True).stdout
    assert said == b"./" * name.startswith("-") + os.fsencode(name) + b"\0"
    assert not list(tmp_path.iterdir())


def test_the_hint_of_import_quotes_the_file(here: Path, capsys) -> None:
    (here / "m.flent").write_text(json.dumps(FLENT))
    assert main(["import", "m.flent", "--out", "a b;c.toml"]) == 0
    assert "try: sojourn compare 'a b;c.toml' --queues" in capsys.readouterr().out


def test_the_page_of_all_papers_leads_to_reports_alone(tmp_path: Path) -> None:
    about = {"paper": "<b>x", "citation": "y", "page": "javascript:alert(1)", "claims": {}, "skipped": 0}
    folder = tmp_path / 'javascript:alert(1);"'
    folder.mkdir()
    (folder / "about.json").write_text(json.dumps(about | {"caution": "", "made": "z"}))
    text = write_index(tmp_path).read_text()
    assert 'href="javascript%3Aalert%281%29%3B%22/javascript%3Aalert%281%29"' in text
    assert "&lt;b&gt;x" in text


HIDDEN = {"Cc", "Cs", "Zl", "Zp"}
# Marks of direction (Unicode Standard Annex 9, 2), and what has no width or is not meant for display.
INVISIBLE = [
    0xAD,
    0x61C,
    0x180E,
    0x200B,
    0x200E,
    0x200F,
    *range(0x202A, 0x202F),
    *range(0x2060, 0x2065),
    *range(0x2066, 0x206A),
    0xFEFF,
]


def test_no_message_has_a_second_line_or_text_that_is_turned_around() -> None:
    hidden = [c for c in map(chr, range(0x110000)) if unicodedata.category(c) in HIDDEN or ord(c) in INVISIBLE]
    for c in hidden:
        text = f"a{c}b"
        for said in (one_line(text), str(UserError(text)), str(Note(text)), str(RunError(text))):
            assert c not in said, hex(ord(c))
            assert said.isascii(), hex(ord(c))
    for text in ("größe 帯域 می‌شود 👩\u200d💻", "a b\u00a0c"):
        assert one_line(text) == text


@pytest.mark.parametrize("mark", ["\u202e", "\u2066", "\u2028", "\u2029", "\x85", "\ufeff"])
def test_marks_of_direction_and_separators_are_shown_as_escapes(here: Path, capsys, mark: str) -> None:
    text = f'duration = "1 s"\n[[links]]\nname = "l"\nfrom = "a"\nto = "b"\nrate = "{mark}5 Mbit/s"\n'
    (here / f"x{mark}.toml").write_text(text)
    assert main(["check", f"x{mark}.toml"]) == 2
    (here / "name.toml").write_text(text.replace('"l"', f'"l{mark}"').replace(f"{mark}5", "5"))
    assert main(["check", "name.toml"]) == 2
    for arguments in (["run", "name.toml", "--set", f"seed={mark}"], [mark], ["run", "name.toml", "--seeds", mark]):
        assert main(arguments) == 2
    error = capsys.readouterr().err
    assert mark not in error
    assert error.count("\n") == 5
    assert f"\\u{{{ord(mark):x}}}" in error


def program(*arguments: bytes | str) -> subprocess.CompletedProcess[bytes]:
    """The program in a process of its own, as a shell starts it."""
    code = "import sys; from sojourn.cli import main; sys.exit(main(sys.argv[1:]))"
    environment = {**os.environ, "PYTHONPATH": str(Path(files.__file__).parents[2])}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, timeout=120, check=False)


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", b"gr\xfc\xdfe.toml"],
        ["analyze", b"gr\xfc\xdfe.toml"],
        ["compare", b"gr\xfc\xdfe.toml", "--queues", "red"],
        ["sweep", b"gr\xfc\xdfe.toml", "--no-cache"],
        ["reproduce", b"gr\xfc\xdfe"],
        ["plot", b"gr\xfc\xdfe"],
        ["run", "dumbbell.toml", "--law", b"\xff.py"],
        ["run", "dumbbell.toml", "--set", b'name="\xff"'],
        ["run", "dumbbell.toml", "--set", b"\xff=1"],
        ["run", "dumbbell.toml", "--host", b"\xff"],
        ["run", "dumbbell.toml", "--measure", b"\xff"],
        ["compare", "dumbbell.toml", "--queues", b"red,\xff"],
        ["compare", "dumbbell.toml", "--queues", "red", "--link", b"\xff"],
        ["compare", "dumbbell.toml", "--vary", b"links.bottleneck.rate=\xff"],
        ["compare", "dumbbell.toml", "--cc", b"\xff"],
        ["list", b"\xff"],
        [b"\xff"],
    ],
)
def test_an_argument_that_is_not_in_utf_8_is_refused_in_one_line(here: Path, dumbbell: Path, capfd, arguments) -> None:
    """The arguments are those of `sys.argv`, in which Python keeps such bytes as surrogates."""
    (here / os.fsdecode(b"gr\xfc\xdfe.toml")).write_bytes(dumbbell.read_bytes())
    assert main([os.fsdecode(argument) for argument in arguments]) == 2
    said = capfd.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith("error: ")


def test_a_process_refuses_an_argument_that_is_not_in_utf_8_in_one_line(here: Path) -> None:
    done = program("check", b"gr\xfc\xdfe.toml")
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert done.stderr.startswith(b"error: ")


def test_a_folder_or_a_foreign_file_may_have_a_name_that_is_not_in_utf_8(here: Path, dumbbell: Path) -> None:
    done = program("run", "dumbbell.toml", "--set", 'trace.queue={links=["*"],every="1 s"}', "--out", b"gr\xfc\xdfe")
    assert done.returncode == 0
    assert rb"wrote gr\udcfc\udcdfe/: " in done.stdout
    assert program("plot", b"gr\xfc\xdfe").returncode == 0
    (here / os.fsdecode(b"\xff.flent")).write_text(json.dumps(FLENT | {"metadata": {}}))
    assert program("import", b"\xff.flent", "--out", b"\xfe.toml").returncode == 0


def test_a_text_with_half_a_character_is_refused_in_one_line() -> None:
    for text in ("name = '\udcff'\n", "x = 1\n# \ud800\n"):
        with pytest.raises(UserError, match="expected a text in UTF-8"):
            sj.loads(text)


FORMULAS = r"""
name = 'x $\frac$ y'
duration = "300 ms"
[[links]]
name = '$\frac$'
from = "a"
to = "b"
rate = "5 Mbit/s"
delay = "1 ms"
duplex = true
[[flows]]
name = '$\sqrt$f'
from = "a"
to = "b"
[trace]
queue = { links = ['*'], every = "5 ms" }
cwnd = { flows = ['*'], every = "5 ms" }
wait = { links = ['*'] }
rtt = { flows = ['*'] }
"""


@pytest.fixture
def formulas(here: Path) -> Path:
    """A scenario whose names are formulas that matplotlib can't read."""
    (here / "a.toml").write_text(FORMULAS)
    return here / "a.toml"


def test_a_name_with_two_dollars_is_drawn_as_it_is(formulas: Path, here: Path, capsys) -> None:
    assert main(["run", "a.toml", "--out", "r"]) == 0
    assert main(["plot", "r"]) == 0
    assert main(["compare", "a.toml", "--queues", "red,codel", "--seeds", "2", "--cdf", "wait,rtt", "--out", "c"]) == 0
    vary = r"name='$\frac$','$\sqrt$'"
    assert main(["compare", "a.toml", "--vary", vary, "--seeds", "1", "--out", "v"]) == 0
    (here / "s.toml").write_text("scenario = 'a.toml'\n[axes]\nname = ['$\\frac$', '$\\sqrt$']\n")
    assert main(["sweep", "s.toml", "--plot", r"links.$\frac$.utilization", "--out", "s", "--no-cache"]) == 0
    assert "cannot be drawn" not in capsys.readouterr().err
    for folder in ("r", "c", "v", "s"):
        assert list((here / folder).glob("*.pdf"))


def test_the_labels_of_logarithmic_axes_stay_powers_of_ten() -> None:
    with style.figure() as made:
        axes = made.add_subplot()
        axes.set_xscale("log")
        axes.plot([1, 1e6], [0, 1], label="$x$")
        axes.set_xticks([1, 1e3, 1e6])
        axes.set_xlabel("$y$")
        axes.legend()
    style.settled(made)
    labels = axes.get_xticklabels()
    assert labels[0].get_text() == r"$\mathdefault{10^{0}}$"
    assert all(label.get_parse_math() for label in labels)
    assert not axes.xaxis.label.get_parse_math()
    assert not axes.get_legend().get_texts()[0].get_parse_math()


def broken(*_: object, **__: object) -> None:
    raise RuntimeError("no\nfont")


COMPARE = ["compare", "dumbbell.toml", "--queues", "red", "--seeds", "1", "--set", "duration=2 s", "--out", "out"]


def test_a_comparison_is_kept_where_its_plots_fail(dumbbell: Path, here: Path, capsys, monkeypatch) -> None:
    with monkeypatch.context() as failing:
        failing.setattr(mpl.figure.Figure, "savefig", broken)
        assert main([*COMPARE, "--no-cache", "--cdf", "wait"]) == 0
        error = capsys.readouterr().err
        assert error.count("note: ") == 2
        assert "note: overview: cannot be drawn: RuntimeError: no font" in error
        assert {path.name for path in (here / "out").iterdir()} == {
            "runs.parquet",
            "summary.csv",
            "table.tex",
            "SHA256SUMS",
        }
        assert main(["plot", "out"]) == 1
        assert capsys.readouterr().err == "error: overview: cannot be drawn: RuntimeError: no font\n"
    assert main(["plot", "out"]) == 0


def test_a_sweep_is_kept_where_its_plots_fail_or_the_disk_is_full(
    dumbbell: Path, here: Path, capsys, monkeypatch
) -> None:
    (here / "s.toml").write_text('scenario = "dumbbell.toml"\n[axes]\n"flows.ftp.count" = [1, 2]\n')
    command = ["sweep", "s.toml", "--plot", "links.bottleneck.utilization", "--out", "out", "--no-cache"]
    monkeypatch.setattr(mpl.figure.Figure, "savefig", broken)
    assert main(command) == 0
    assert "links.bottleneck.utilization: cannot be drawn" in capsys.readouterr().err
    kept = {path.name for path in (here / "out").iterdir()}
    assert kept == {"runs.parquet", "summary.parquet", "summary.csv", "table.tex", "SHA256SUMS"}

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(mpl.figure.Figure, "savefig", full)
    assert main(command) == 1
    assert {path.name for path in (here / "out").iterdir()} == kept - {"table.tex"}
    assert main(["plot", "out"]) == 1
