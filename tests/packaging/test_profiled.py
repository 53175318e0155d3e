"""The wheel's engine is optimized by a profile if the tool exists, and reports it."""

from __future__ import annotations

import importlib.util
import json

import pytest

from sojourn import _sojourn
from tests.support.source_tree import ROOT

specification = importlib.util.spec_from_file_location("profiled", ROOT / "scripts" / "profiled.py")
assert specification is not None
assert specification.loader is not None
profiled = importlib.util.module_from_spec(specification)
specification.loader.exec_module(profiled)

DUMBBELL = (ROOT / "examples" / "dumbbell.toml").read_text()
REGISTRY = json.loads(_sojourn.registry())


def test_the_tool_must_have_the_version_of_llvm_that_the_compiler_has():
    assert profiled.llvm("rustc 1.95.0\nhost: x86_64-unknown-linux-gnu\nLLVM version: 22.1.2\n") == "22"
    printed = {"old": "LLVM version 14.0.6\n", "silent": "", "new": "Debian LLVM version 22.1.8\n  Optimized build."}
    version_of = {name: profiled.llvm(text) for name, text in printed.items()}.get
    assert profiled.fitting("22", list(printed), version_of) == "new"
    assert profiled.fitting("21", list(printed), version_of) is None


def test_every_run_of_the_profile_can_be_run_and_every_algorithm_is_in_one():
    texts = profiled.training(DUMBBELL, REGISTRY)
    assert len(set(texts)) == len(texts)
    assert all(_sojourn.check(text, "training.toml") for text in texts)
    assert texts == profiled.training(DUMBBELL, REGISTRY)
    named = {entry["name"] for kind in ("aqm", "cc") for entry in REGISTRY[kind]} - profiled.EXTERN
    assert [name for name in named if not any(f'"{name}"' in text for text in texts)] == []


def test_a_scenario_that_lacks_what_is_changed_is_named():
    with pytest.raises(ValueError, match='expected "60 s" once, got it 0 times'):
        profiled.training(DUMBBELL.replace('"60 s"', '"61 s"'), REGISTRY)


def test_the_systems_linker_links_the_counters_that_zig_does_not():
    arguments, flags = profiled.counting(["--locked", "--zig"])
    assert arguments[:2] == ["--locked", "--zig"]
    assert flags == [f"-Cprofile-generate={profiled.WORK / 'counts'}", "-Clinker=cc"]
    assert profiled.counting(["--locked"])[1] == flags[:1]


@pytest.mark.parametrize(
    ("why_not", "flags", "said"),
    [
        ("", [f"-Cprofile-use={profiled.PROFILE}"], "wheel: with a profile of its runs\n"),
        ("no tool", [], "wheel: without a profile: no tool\n"),
    ],
)
def test_the_wheel_is_built_either_way_and_says_in_which(capsys, monkeypatch, why_not, flags, said):
    built = []
    monkeypatch.setattr(profiled, "profile", lambda arguments: why_not)
    monkeypatch.setattr(profiled, "maturin", lambda *given: built.append(given) or 0)
    assert profiled.main(["--locked"]) == 0
    assert built == [(["--locked", "--out", str(ROOT / "dist")], flags)]
    assert capsys.readouterr().out == said


def test_without_the_tool_nothing_is_built_that_counts(monkeypatch):
    monkeypatch.setattr(profiled, "candidates", lambda version: [])
    monkeypatch.setattr(profiled, "maturin", lambda *_: pytest.fail("it was built"))
    assert profiled.profile(["--locked"]).startswith("there is no llvm-profdata of LLVM ")
    assert profiled.profile(["--profile", "quick"]) == "the profile quick is for a quick build"
