"""Mutation tests: the changes, and the mutants listed as equivalent."""

import tomllib
from argparse import Namespace

import pytest

from conformance.mutants import python_sources
from conformance.mutants.__main__ import Equivalent, Result, drawn
from conformance.mutants.mutant import Mutant
from conformance.mutants.python_sources import Copy, mutants_of
from sojourn.core.errors import UserError
from tests.support.source_tree import ROOT

pytestmark = pytest.mark.no_libraries

SOURCE = '''"""Adds 1 < 2."""
def fits(size: int = 3, *, whole: bool = True) -> bool:
    """Whether it fits."""
    log(f"{size + 1}")
    return whole and -size < 10
'''


def changes(source: str) -> set[tuple[str, str]]:
    return {(each.old, each.new) for each in mutants_of("x.py", source)}


def test_operators_constants_calls_and_results_are_changed_and_texts_are_not():
    assert changes(SOURCE) == {
        ("3", "(4)"),
        ("True", "(False)"),
        ('log(f"{size + 1}")', "pass"),
        ("return whole and -size < 10", "return None"),
        ("whole and -size < 10", "(whole or -size < 10)"),
        ("-size < 10", "(-size <= 10)"),
        ("-size < 10", "(-size > 10)"),
        ("-size", "(size)"),
        ("10", "(11)"),
    }


def test_each_mutant_is_a_module_that_compiles_and_differs_in_one_place():
    source = (ROOT / "python/sojourn/core/stats.py").read_bytes()
    mutants = mutants_of("stats.py", source.decode())
    assert len(mutants) > 100
    for mutant in mutants:
        text = mutant.applied(source)
        compile(text, "stats.py", "exec")
        assert text != source
        assert text.startswith(source[: mutant.begin])
        assert text.endswith(source[mutant.end :])


WEIGHT = """
TOO_MUCH = 9
def weight(parts):
    total = 0
    while parts:
        total += parts.pop()
    return min(total, TOO_MUCH)
def unused():
    return 1
"""
WEIGHED = """
import subprocess, sys
import pytest
from weight import weight
def test_fast():
    assert weight([2, 3]) == 5
def test_in_a_process():
    subprocess.run([sys.executable, "-c", "import weight; assert weight.weight([9, 9]) == 9"], check=True)
"""


@pytest.fixture
def small(tmp_path, monkeypatch):
    """The copy of a repository with one module, and its mutants by their names without the file."""
    monkeypatch.setattr(python_sources, "LEAST_S", 2.0)
    root = tmp_path / "root"
    for file, text in (("python/weight.py", WEIGHT), ("tests/test_weight.py", WEIGHED)):
        (root / file).parent.mkdir(parents=True)
        (root / file).write_text(text)
    copy = Copy(root, tmp_path / "copy", ["python/weight.py"], ["tests/test_weight.py"])
    yield copy, {each.name.removeprefix("python/weight.py "): each for each in mutants_of("python/weight.py", WEIGHT)}
    copy.close()


def test_a_module_is_run_with_its_mutant_in_tests_that_reach_it_and_in_their_processes(small):
    copy, mutants = small
    fast, slow = (f"tests/test_weight.py::{name}" for name in ("test_fast", "test_in_a_process"))
    assert copy.tests_of("python/weight.py", "weight") == copy.tests_of("python/weight.py", "") == [[fast, slow]]
    assert copy.tests_of("python/weight.py", "unused") == [[slow]]
    caught = {name: copy.catches(mutant) for name, mutant in mutants.items()}
    assert caught == {
        ": 9 -> (10)": True,
        "weight: 0 -> (1)": True,
        "weight: return min(total, TOO_MUCH) -> return None": True,
        "unused: return 1 -> return None": False,
        "unused: 1 -> (2)": False,
    }
    assert (copy.folder / "python/weight.py").read_text() == WEIGHT


def test_a_mutant_that_never_ends_is_caught(small):
    copy, _ = small
    begin = WEIGHT.index("parts.pop()")
    endless = Mutant("python/weight.py", 6, "weight", "parts.pop()", "1", begin, begin + len("parts.pop()"))
    assert copy.catches(endless)


def test_tests_that_fail_without_a_mutant_are_an_error(tmp_path):
    (tmp_path / "root/python").mkdir(parents=True)
    (tmp_path / "root/test_red.py").write_text("def test_red(): assert 1 == 2")
    with pytest.raises(UserError, match="expected tests that pass without a change"):
        Copy(tmp_path / "root", tmp_path / "copy", [], ["test_red.py"])


def test_an_equivalent_mutant_that_no_longer_exists_is_an_error():
    known = Equivalent([r"a\.rs f: x < 1 -> x <= 1"])
    assert known.covers("a.rs f: x < 1 -> x <= 1")
    assert not known.covers("a.rs f: x < 1 -> x > 1")
    known.check(["a.rs f: x < 1 -> x <= 1"])
    with pytest.raises(UserError, match="expected a pattern that fits a mutant"):
        known.check(["a.rs f: x < 2 -> x <= 2"])


@pytest.mark.parametrize("shards", [1, 7])
def test_shards_have_each_mutant_once(shards):
    parts = [drawn(100, Namespace(seed=40, shard=f"{n}/{shards}", count=5)) for n in range(shards)]
    assert sorted(number for part in parts for number in part) == list(range(100))


def test_a_sample_is_drawn_by_its_seed():
    one, other = (drawn(1000, Namespace(seed=seed, shard="", count=50)) for seed in (1, 2))
    assert len(set(one)) == len(one) == 50
    assert one != other


def test_the_table_shows_the_share_that_survives_with_wilsons_interval():
    # Newcombe (1998), table I, method 3: 15 of 148 has 0.0624 to 0.1605.
    row = Result(listed=900, drawn=160, viable=150, equivalent=2, survivors=["x"] * 15).row("aqm")
    assert row == "| aqm | 900 | 160 | 150 | 133 | 2 | 15 | 10.1 % (6.2 to 16.0) |\n"


def test_every_part_and_every_equivalent_mutant_names_files_that_exist():
    config = tomllib.loads((ROOT / "conformance/mutants/mutants.toml").read_text())
    for part in config["parts"].values():
        for file in [*part.get("files", []), *part.get("modules", [])]:
            assert (ROOT / file).exists()
        for test in part["tests"]:
            assert (ROOT / test.partition("::")[0]).exists() if "modules" in part else (ROOT / "crates" / test).is_dir()
    assert all(each["part"] in config["parts"] and each["reason"] for each in config["equivalent"])


def test_a_function_is_not_replaced_by_the_value_that_it_returns():
    pytest.importorskip("tree_sitter_rust", reason="the group `mutants`")
    from conformance.mutants.rust_sources import Places, place

    source = b"fn size(&self) -> u32 {\n    let _ = self;\n    0\n}\n"
    described = {
        "file": "x.rs",
        "function": {"function_name": "size"},
        "genre": "FnValue",
        "span": {"start": {"line": 2, "column": 5}, "end": {"line": 3, "column": 6}},
    }
    assert place({**described, "replacement": "0"}, Places(source)) is None
    assert place({**described, "replacement": "1"}, Places(source)).mutant.new == "1"
