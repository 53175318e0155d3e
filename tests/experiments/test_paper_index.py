"""`results/index.html` links all reports, and a report states its provenance."""

import json
from pathlib import Path

import pytest

from sojourn.cli import main
from sojourn.core.text_format import elapsed
from sojourn.experiments.index import entries, write_index
from sojourn.experiments.outcome import Effort
from sojourn.experiments.verdict import Verdict
from tests.support.source_tree import ROOT


def about(results: Path, name: str, **changed: object) -> Path:
    """Writes the `about.json` of a report as `reproduce` does."""
    said = {
        "paper": name,
        "citation": f"{name} in full",
        "page": "report.html",
        "made": "Rerun with 5 seeds.",
        "caution": "",
        "skipped": 0,
        "claims": {"paper": {"reproduced": 3, "not reproduced": 1}, "ours": {"reproduced": 9}},
    }
    (results / name).mkdir(parents=True)
    file = results / name / "about.json"
    file.write_text(json.dumps(said | changed))
    return file


def test_the_index_counts_the_papers_own_claims_and_leads_to_each_report(tmp_path: Path) -> None:
    about(tmp_path, "a-2001")
    about(tmp_path, "b-2002", caution="1 grid of 4 rerun.", skipped=7)
    about(tmp_path, "c-2003", claims={"paper": {"reproduced": 2, "undecided": 5}})
    page = write_index(tmp_path).read_text()
    for name in ("a-2001", "b-2002", "c-2003"):
        assert f'<a href="{name}/report.html">' in page
    assert "7 not judged" in page
    assert "1 grid of 4 rerun." in page
    found = {entry.id: entry for entry in entries(tmp_path)}
    assert found["a-2001"].total == 4
    assert found["a-2001"].counts == {str(v): {"reproduced": 3, "not reproduced": 1}.get(str(v), 0) for v in Verdict}
    whole = page[page.index("all whole reruns") :]
    assert "<b>11</b>" in whole, "the sum leaves out what was not wholly rerun"


def test_a_file_that_is_no_report_is_left_out_of_the_index(tmp_path: Path) -> None:
    about(tmp_path, "good-2001")
    for name, content in (("no-json", "{"), ("other", '{"paper": "x"}'), ("list", "[1]"), ("odd", '{"claims": 3}')):
        about(tmp_path, name).write_text(content)
    assert [entry.id for entry in entries(tmp_path)] == ["good-2001"]


def test_what_a_report_says_is_text_in_the_index(tmp_path: Path) -> None:
    about(tmp_path, "a-2001", citation="A <b>bold</b> & fine title")
    page = write_index(tmp_path).read_text()
    assert "A &lt;b&gt;bold&lt;/b&gt; &amp; fine title" in page


@pytest.mark.slow
def test_a_rerun_says_what_it_took_and_updates_the_index(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["reproduce", str(ROOT / "papers" / "flower-2016"), "cycle", "--seeds", "1"]
    assert main(command) == 0
    assert "2 runs\n" in capsys.readouterr().out
    folder = tmp_path / "results" / "flower-2016"
    made = json.loads((folder / "about.json").read_text())["made"]
    assert made.startswith("Rerun with 1 seed in ")
    assert "engine" in made
    page = (folder / "report.html").read_text()
    assert made in page
    # Measured values have their own row, as wide as the table: next to the claim they would be cut.
    opened = page.count("<summary>what was measured</summary>")
    assert page.count('<tr class="more"><td></td><td colspan="4"><details>') == opened > 0
    assert made in (tmp_path / "results" / "index.html").read_text()
    assert main(command) == 0
    assert "2 runs, 2 of them from the cache" in capsys.readouterr().out


def test_all_papers_are_not_one_paper(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "all", "table2"]) == 2
    assert 'paper: expected one paper beside the grid "table2", got "all"' in capsys.readouterr().err
    assert main(["reproduce", "all", "--out", "there"]) == 2
    assert 'paper: expected one paper beside --out "there", got "all"' in capsys.readouterr().err


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.004, "0.004 s"), (9.94, "9.9 s"), (9.96, "10 s"), (59.6, "1 min 0 s"), (245, "4 min 5 s"), (3720, "1 h 2 min")],
)
def test_a_time_is_told_as_people_say_it(seconds: float, text: str) -> None:
    assert elapsed(seconds) == text


def test_what_runs_cost_is_one_sentence() -> None:
    assert str(Effort(90.0, 170.0, 1000, 0)) == "1 min 30 s (2 min 50 s of CPU time), 1,000 runs"
    assert str(Effort(1.0, 2.0, 3, 1)) == "1 s (2 s of CPU time), 3 runs, 1 of them from the cache"
