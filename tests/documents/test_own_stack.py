"""The page on transports of others lists what exists."""

import re

from tests.support.source_tree import ROOT


def test_the_page_lists_the_folders_of_stacks() -> None:
    page = (ROOT / "docs" / "own-stack.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `(stacks/[^`]+)` \|", page, re.MULTILINE))
    assert listed == {f"stacks/{path.parent.name}" for path in (ROOT / "stacks").glob("*/Cargo.toml")}
