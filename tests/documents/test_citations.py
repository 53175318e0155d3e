"""Citations have one form, and every cited work is in the list of references."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.source_tree import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
import citations

pytestmark = pytest.mark.no_libraries


def test_every_cited_work_is_known() -> None:
    invented = re.findall(
        r'^id *= "([a-z-]+-\d+)"', (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    paths = [path.stem for path in (ROOT / "crates" / "scenario" / "library").glob("*.toml")]
    known = {*citations.references(), *invented, *paths}
    unknown = [
        f"{each.path}:{each.line}: {each.work} is neither in docs/references.md nor a folder of papers/"
        for each in citations.citations()
        if each.work not in known and (each.place or each.path.parts[0] != "tests")  # tests invent papers
    ]
    assert not unknown, "\n".join(unknown)


def test_a_place_in_a_work_is_cited_by_key_and_place() -> None:
    loose = [
        f"{path}:{number}: {found!r}: write it like rfc8289#5.3, hollot-2001#eq9 or lehto-2005#table1"
        for path, number, found in citations.loose()
        if path != Path("tests/documents/test_citations.py")
    ]
    assert not loose, "\n".join(loose)


@pytest.mark.parametrize(
    ("written", "form"),
    [
        ("as rfc8289#5.3 says", [("rfc8289", "5.3")]),
        ("(hollot-2001#eq9).", [("hollot-2001", "eq9")]),
        ("rfc9332#A.2.", [("rfc9332", "A.2")]),
        ("lehto-2005#table1, lehto-2005#fig3a", [("lehto-2005", "table1"), ("lehto-2005", "fig3a")]),
        ("papers/led-2006/experiment.toml", []),
        ("RFC 8289 is prose", []),
    ],
)
def test_the_script_reads_citations(written: str, form: list[tuple[str, str]]) -> None:
    found = [(each[1], each[2] or "") for each in citations.CITATION.finditer(written)]
    assert [each for each in found if each[1]] == form


@pytest.mark.parametrize(
    "written", ["RFC 6298 rule 2.4", "RFC 5681 section 3.1", "hollot-2001#eq11 and #eq12", "rfc8289#sec5"]
)
def test_the_script_finds_other_styles(written: str) -> None:
    assert citations.LOOSE.search(written)


def test_the_script_lists_what_is_cited() -> None:
    command = [sys.executable, "scripts/citations.py", "rfc8289"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert said.startswith("rfc8289: Controlled Delay Active Queue Management. 2018.")
    assert "crates/aqm/src/algorithms/" in said
