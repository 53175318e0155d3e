"""The pages that `scripts/site.py` writes for the site."""

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType

import pytest

import sojourn as sj
from tests.support.source_tree import ROOT

pytestmark = pytest.mark.no_libraries


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, with a folder of its own for its output."""
    spec = importlib.util.spec_from_file_location("site_script", ROOT / "scripts" / "site.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "OUT", tmp_path)
    return module


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("[scenario.md](scenario.md)", "[The scenario file](scenario.md)"),
        ("[paths](scenario.md#paths)", "[paths](scenario.md#paths)"),
        ("[a case](../examples/cake.toml)", "a case (`examples/cake.toml`)"),
        ("```\n[scenario.md](scenario.md)\n```", "```\n[scenario.md](scenario.md)\n```"),
    ],
)
def test_a_link_shows_a_title_and_leads_to_no_file_that_the_site_lacks(site: ModuleType, text: str, shown: str) -> None:
    assert site.on_site(Path("docs/five-minutes.md"), text) == shown


def test_each_algorithm_has_a_page_with_all_its_parameters(site: ModuleType, tmp_path: Path) -> None:
    for kind in site.ALGORITHMS:
        site.algorithms(kind)
    registry = json.loads(site._sojourn.registry())
    for kind in site.ALGORITHMS:
        index = (tmp_path / "reference" / kind / "index.md").read_text(encoding="utf-8")
        for entry in registry[kind]:
            assert f"[{entry['name']}]({entry['name']}.md)" in index
            page = (tmp_path / "reference" / kind / f"{entry['name']}.md").read_text(encoding="utf-8")
            named = {part["name"] for part in site.listing._parameters(kind, entry["name"])}
            assert named <= {line.split("`")[1] for line in page.splitlines() if line.startswith("| `")}
    # What a search for "RED min threshold" must find.
    red = (tmp_path / "reference" / "aqm" / "red.md").read_text(encoding="utf-8")
    assert red.startswith("# red: queue discipline\n")
    assert "| `min` |" in red


def test_the_page_of_python_has_each_public_name_by_its_docstring(site: ModuleType) -> None:
    page = site.python()
    for name in sj.__all__:
        assert re.search(rf"^\.\. auto(class|function):: sojourn\.{name}$", page, re.MULTILINE), name
