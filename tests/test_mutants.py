"""Mutation tests: what is changed, and what is believed to be equivalent."""

import tomllib
from argparse import Namespace
from pathlib import Path

import pytest
from conformance.mutants.__main__ import Equivalent, Result, drawn
from conformance.mutants.python_sources import mutants_of

from sojourn.errors import UserError

ROOT = Path(__file__).resolve().parents[1]
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
    source = (ROOT / "python/sojourn/stats.py").read_bytes()
    mutants = mutants_of("stats.py", source.decode())
    assert len(mutants) > 100
    for mutant in mutants:
        text = mutant.applied(source)
        compile(text, "stats.py", "exec")
        assert text != source
        assert text.startswith(source[: mutant.begin])
        assert text.endswith(source[mutant.end :])


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
        for file in [*part.get("files", []), part.get("module", "python")]:
            assert (ROOT / file).exists()
        for test in part["tests"]:
            assert (ROOT / test).exists() if "module" in part else (ROOT / "crates" / test).is_dir()
    assert all(each["part"] in config["parts"] and each["reason"] for each in config["equivalent"])
