"""Malformed files are read or rejected in one line.

These are a few of the millions of files that `conformance.malformed` reads.
"""

from __future__ import annotations

import random
import sys

from tests.support.source_tree import ROOT

sys.path.insert(0, str(ROOT))

from conformance.malformed import HUGE, MISTAKES, hunt, kinds


def test_no_malformed_file_gives_a_traceback() -> None:
    seen = hunt(1500, seed=1)
    assert sum(seen.values()) == 1500
    read = {what.partition(":")[0] for what in seen if what.endswith(": read")}
    refused = {what.partition(":")[0] for what in seen if what.endswith(": refused")}
    assert refused == {kind.name for kind in kinds()} >= read
    assert "scenario.toml" in read


def test_every_mistake_changes_something() -> None:
    content = b'[a]\nkey = "value"\nother = 5\n[b]\nx = [1, 2]\n'
    for mistake in (*MISTAKES, *HUGE):
        assert any(mistake(content, [content], random.Random(seed)) != content for seed in range(20))
