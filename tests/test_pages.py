"""What the pages show in Python runs as it stands there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.slow
@pytest.mark.parametrize("page", ["README.md", "docs/from-law-to-packets.md"])
def test_the_python_of_a_page_runs(page, monkeypatch):
    monkeypatch.chdir(ROOT)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    exec("\n".join(blocks), {})
