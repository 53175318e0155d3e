"""The core works without the optional dependencies.

An operation that needs one names the extra to install, in one line.
"""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import sojourn as sj
from sojourn.core.extras import CONTAINED, EXTRAS, require
from tests.support.source_tree import ROOT

DUMBBELL = str(ROOT / "examples" / "dumbbell.toml")
# Newer versions of typer need pydantic themselves, so it can't be hidden.
OPTIONAL = sorted({module for modules in EXTRAS.values() for module in modules} - {"pydantic"})
HIDE = f"""
import sys
from importlib.machinery import PathFinder
class Core(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        hidden = name.partition(".")[0] in {OPTIONAL!r}
        return None if hidden else PathFinder.find_spec(name, path, target)
sys.meta_path[sys.meta_path.index(PathFinder)] = Core
"""


COMMANDS = """
import contextlib, io, json
from sojourn.cli import main
for arguments in json.loads(sys.stdin.read()):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(arguments)
    print(json.dumps([code, out.getvalue(), err.getvalue()]))
"""


def core(code: str, folder: Path, given: str = "") -> subprocess.CompletedProcess[str]:
    """Runs code in an interpreter without the optional dependencies."""
    path = f"sys.path[:0] = [{str(ROOT / 'python')!r}]\n"
    return subprocess.run(
        [sys.executable, "-c", HIDE + path + code], cwd=folder, input=given, capture_output=True, text=True
    )


WITHOUT = [
    ["run", DUMBBELL],
    ["run", DUMBBELL, "--seeds", "2", "--json"],
    ["check", DUMBBELL],
    ["check", DUMBBELL, "--resolved"],
    ["list"],
    ["list", "aqm", "red"],
    ["list", "papers"],  # pydantic alone
    ["schema"],
    ["schema", "claims"],  # pydantic alone
    ["--help"],
]
WITH = [
    (["run", DUMBBELL, "--seeds", "2"], "analysis"),
    (["run", DUMBBELL, "--out", "x"], "tables"),
    (["compare", DUMBBELL, "--queues", "red,pd"], "analysis"),
    (["compare", DUMBBELL, "--queues", "red,pd", "--out", "x"], "tables,plots,analysis"),
    (["sweep", str(ROOT / "examples" / "sweep.toml")], "tables,analysis"),
    (["plot", "."], "plots"),
    (["analyze", DUMBBELL], "analysis"),
    (["design", "pi", "--flows", "60", "--rate", "3750pps", "--rtt", "246ms"], "analysis"),
    (["study", "lbe"], "papers"),
    (["reproduce", "lehto"], "papers"),
]


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str, str]]:
    """The exit code, the output and the errors of each command.

    One process runs them all and leaves no file.
    """
    folder = tmp_path_factory.mktemp("core")
    commands = [*WITHOUT, *(arguments for arguments, _ in WITH)]
    done = core(COMMANDS, folder, json.dumps(commands))
    assert done.returncode == 0, done.stderr
    assert not list(folder.iterdir())
    said = map(json.loads, done.stdout.splitlines())
    return {" ".join(arguments): each for arguments, each in zip(commands, said, strict=True)}


@pytest.mark.parametrize("arguments", WITHOUT, ids=" ".join)
def test_these_commands_need_no_extra(arguments: list[str], ended: dict[str, tuple[int, str, str]]) -> None:
    code, printed, error = ended[" ".join(arguments)]
    assert code == 0, error
    assert printed


def test_a_run_from_python_needs_no_extra(tmp_path: Path) -> None:
    code = f"import sojourn as sj; print(sj.run({DUMBBELL!r}).value('links.bottleneck.queue.mean'))"
    done = core(code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) > 0


@pytest.mark.parametrize(("arguments", "extra"), WITH, ids=lambda each: each[0] if isinstance(each, list) else each)
def test_a_command_that_needs_an_extra_says_how_to_install_it(
    arguments: list[str], extra: str, ended: dict[str, tuple[int, str, str]]
) -> None:
    code, _, error = ended[" ".join(arguments)]
    assert code == 2
    assert re.fullmatch(rf"error: [\w, ]+ (is|are) not installed: pip install 'sojourn\[{extra}\]'\n", error)


def test_a_worker_that_stores_a_shard_needs_no_extra(tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(Path(DUMBBELL).read_text().replace('"60 s"', '"3 s"').replace('"10 s"', '"1 s"'))
    (tmp_path / "two.toml").write_text('scenario = "one.toml"\n[axes]\n"flows.ftp.count" = [2, 3]\n')
    done = core(COMMANDS, tmp_path, json.dumps([["sweep", "two.toml", "--shard", "1/2"]]))
    code, _, error = json.loads(done.stdout)
    assert (code, "shard 1/2: 1 run in results/cache" in error) == (0, True), error


def test_modules_and_extras_are_those_of_the_package() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for extra, modules in EXTRAS.items():
        named = [re.split(r"[<>=\[ ]", requirement)[0] for requirement in declared[extra]]
        assert tuple(name for name in named if name != "sojourn") == modules
        inside = re.findall(r"sojourn\[(.*?)\]", " ".join(declared[extra]))
        assert ",".join(inside) == ",".join(CONTAINED.get(extra, ()))
    assert set(declared) == {*EXTRAS, "all"}


def test_a_missing_module_is_an_error_of_both_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(sj.MissingExtraError, match=r"ray is not installed: pip install 'sojourn\[ray\]'") as caught:
        require("scipy", "ray")
    assert isinstance(caught.value, ImportError)
    assert isinstance(caught.value, sj.UserError)
