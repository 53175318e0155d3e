"""Dependencies in Rust have licenses that deny.toml allows, one registry, one version each."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import tomllib
from typing import Any

import pytest

from tests.support.source_tree import ROOT

DENY = tomllib.loads((ROOT / "deny.toml").read_text())


@pytest.fixture(scope="module")
def packages() -> list[dict[str, Any]]:
    """Every package that Cargo.lock names, as cargo describes it."""
    ask = ["cargo", "metadata", "--format-version", "1", "--locked"]
    done = subprocess.run(ask, cwd=ROOT, capture_output=True, text=True, check=True)
    found: list[dict[str, Any]] = json.loads(done.stdout)["packages"]
    return found


def allowed(expression: str) -> bool:
    """Whether a license expression holds with the licenses that are allowed."""
    text = expression.replace("/", " OR ")
    for name in sorted(DENY["licenses"]["allow"], key=len, reverse=True):
        text = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w.-]| WITH)", "True", text)
    text = re.sub(
        r"[A-Za-z0-9.+-]+( WITH [A-Za-z0-9.-]+)?",
        lambda m: m[0].lower() if m[0] in ("OR", "AND") else m[0] if m[0] == "True" else "False",
        text,
    )
    return bool(eval(text))  # only True, False, and, or, brackets are left


def test_expressions_of_licenses_are_read_as_they_are_meant() -> None:
    assert allowed("MIT/Apache-2.0")
    assert allowed("GPL-3.0-only OR MIT")
    assert allowed("(MIT OR GPL-2.0-only) AND Unicode-3.0")
    assert not allowed("GPL-3.0-only")
    assert not allowed("MIT AND GPL-2.0-only")
    assert not allowed("MIT WITH some-exception")


def test_every_license_is_allowed(packages: list[dict[str, Any]]) -> None:
    assert not [(each["name"], each["license"]) for each in packages if not allowed(each["license"] or "none")]


def test_every_license_that_is_allowed_is_needed(packages: list[dict[str, Any]]) -> None:
    text = " ".join(each["license"] for each in packages)
    assert not [name for name in DENY["licenses"]["allow"] if name not in text]


def test_no_package_comes_in_two_versions_or_from_elsewhere(packages: list[dict[str, Any]]) -> None:
    by_name = itertools.groupby(sorted(packages, key=lambda each: str(each["name"])), key=lambda each: each["name"])
    assert not [name for name, versions in by_name if len(list(versions)) > 1]
    (registry,) = DENY["sources"]["allow-registry"]
    assert {each["source"] for each in packages} <= {None, f"registry+{registry}"}
