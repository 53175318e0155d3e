"""Papers as data, and the results of the claims engine on them."""

import html
import re
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sojourn.cli import main
from sojourn.core.errors import UserError
from sojourn.core.record import Record
from sojourn.experiments import find_experiment, load_experiment, reproduce
from sojourn.experiments.functions import law_functions
from sojourn.experiments.judging import judge_claim
from sojourn.experiments.model import Case
from sojourn.experiments.outcome import Outcome
from sojourn.experiments.report import short_title, write_report
from sojourn.experiments.reproduce import _shortened
from sojourn.experiments.tables import named_once, table_of
from sojourn.experiments.verdict import Verdict
from sojourn.runs.runner import run
from tests.support.source_tree import ROOT

LEHTO = ROOT / "papers" / "lehto-2005"
MAIN = "experiment.toml"


@pytest.fixture(scope="module")
def lehto():
    return load_experiment(LEHTO)


@pytest.fixture(scope="module")
def table2(lehto):
    """Table 2 with two seeds."""
    return reproduce(lehto, "table2", 2)


def published_outcome(experiment, seeds=(1, 2, 3)):
    """An outcome in which every run has exactly the published numbers."""
    table2 = experiment.grids["table2"]
    records = {case: [record_of(experiment, case, 0.0)] * len(seeds) for case in table2.cases()}
    return Outcome(experiment, [table2], list(seeds), records)


def record_of(experiment, case, off):
    """A record with a case's published numbers, all off by a share."""
    link = {"name": "bottleneck", "queue": {}, "queue_bytes": {}, "rate_bps": 1e7, "departed": 48000}
    data = {"links": [link], "fingerprint": "f"}
    for name in ("drops", "throughput", "queue_mean", "queue_sd"):
        measure = experiment.measure(case.scenario, name)
        value = experiment.published[case.scenario, case.queue, name] / measure.scale * (1 + off)
        *steps, last = measure.path.split(".")[2:]
        (link[steps[0]] if steps else link)[last] = value
    return Record(data)


def test_the_table_has_84_values_with_units(lehto):
    assert len(lehto.published) == 84
    assert lehto.published["s3", "red", "queue_sd"] == 30.3
    assert lehto.published["s7", "pd", "drops"] == 1869
    for (scenario, _, name), unit in lehto.units.items():
        assert lehto.measure(scenario, name).unit == unit


def test_every_claim_of_the_paper_is_there(lehto):
    ids = [claim.id for claim in lehto.claims]
    assert len([i for i in ids if i.startswith("T2-")]) == 21
    named = [*(f"L{n}" for n in range(1, 10)), "L9b", "L10", "L12", "L13", "L14", "L16"]
    assert [i for i in ids if i.startswith("L")] == named
    assert all(claim.reason and claim.where for claim in lehto.claims if not claim.table)


def test_every_scenario_file_stands_alone_and_is_valid(lehto):
    for grid in lehto.grids.values():
        for case in grid.cases():
            assert lehto.scenario(case).canonical()


def test_the_published_numbers_reproduce_themselves(lehto):
    """Every claim on the paper's own table holds for the published numbers."""
    outcome = published_outcome(lehto)
    functions = law_functions(lehto)
    for claim in lehto.claims:
        if claim.id in {"L8", "L12", "L13", "L16"}:  # not in the table
            continue
        result = judge_claim(replace(claim, readings=()), outcome, functions)  # other readings are other runs
        assert result.verdict.holds, claim.id
        assert all(part.published_holds for part in result.parts if not part.part.cells), claim.id


def test_numbers_that_are_all_wrong_reproduce_no_cell(lehto):
    table2 = lehto.grids["table2"]
    records = {case: [record_of(lehto, case, 2.0)] * 3 for case in table2.cases()}
    outcome = Outcome(lehto, [table2], [1, 2, 3], records)
    for claim in lehto.claims:
        if claim.table:
            assert judge_claim(claim, outcome, {}).verdict is Verdict.NOT_REPRODUCED


def test_a_claim_whose_runs_are_missing_is_not_judged(lehto):
    l8 = next(claim for claim in lehto.claims if claim.id == "L8")
    assert judge_claim(l8, published_outcome(lehto), {}) is None


def test_the_sevenths_queue_is_laid_over(lehto):
    cases = {str(case): case for case in lehto.grids["table2"].cases()}
    assert lehto.scenario(cases["s7.red"]).get_path("links.bottleneck.queue.limit") == "52200 B"
    assert lehto.scenario(cases["s1.red"]).get_path("links.bottleneck.queue.limit") == "100 packets"


def test_a_setting_changes_the_scenario(lehto):
    case = next(c for c in lehto.grids["sensitivity"].cases() if c.setting == "rtt50")
    assert lehto.scenario(case).get_path("links.bottleneck.delay") == "15 ms"


def test_the_linear_law_has_the_slopes_that_the_paper_prints(lehto):
    functions = law_functions(lehto)
    assert functions["slope_change"]("pd", 50.0, 0.0) == pytest.approx(1.0)
    assert functions["slope_backlog"]("pd", 50.0, 0.0) == pytest.approx(1.0)
    assert functions["surface"]("pd", 20.0, 0.0) == 0


def test_a_law_between_whole_packets_is_refused_in_one_line(lehto):
    surface = law_functions(lehto)["surface"]
    assert surface("pd", 40, 1) == 11.0
    with pytest.raises(UserError, match=r"surface: change: expected whole packets, as a queue has, got 0\.4"):
        surface("pd", 40, 0.4)


def check_links(text):
    """The contents exist, claims and their runs link each other, and every link has a target."""
    linked, there = set(re.findall(r"<a href=#([^ >]+)", text)), re.findall(r' id="([^"]+)"', text)
    assert linked <= set(there)
    assert len(there) == len(set(there))
    assert linked >= {"claims", "run-table2", "deviations", "made", "claim-T2", "claim-L1"}
    row = re.search(r'<tr id="claim-L1">.*?</tr>\n<tr id=', text, re.DOTALL)
    assert "href=#run-table2" in row[0]
    section = text[text.index('<h2 id="run-table2">') :]
    assert "href=#claim-L1" in section[: section.index("<table")]


def test_a_report_is_whole(here, table2):
    written = write_report(table2, here / "out")
    text = (here / "out" / "report.html").read_text()
    assert written[-1].name == "report.html"
    assert not any(link in text for link in ('src="http', 'href="', "<script", "@import"))
    for word in ("Table 2", "L13", "fingerprint", "D10", "not reproduced", "data:image/svg+xml"):
        assert word in text
    (part,) = next(each.parts for each in table2.results if not each.claim.table and len(each.parts) == 1)
    assert f"{part.measured_with_unit}, target {html.escape(part.target_text)}" in text
    cells = pd.read_csv(here / "out" / "tables" / "table2.csv")
    assert len(cells) == 84
    assert set(cells["verdict"]) <= {"reproduced", "reproduced by a fit", "undecided", "not reproduced"}
    assert cells["verdict"].notna().all()
    assert len(pd.read_parquet(here / "out" / "tables" / "runs.parquet")) == 42
    assert (here / "out" / "figures" / "fig5.pdf").exists()
    check_links(text)


def test_a_report_has_no_empty_column_and_one_number_of_places_in_a_column(lehto, table2):
    table = table_of(table2, lehto.grids["table2"])
    for column in zip(*(row.cells for row in table.rows), strict=True):
        assert any(cell.text not in ("", "–") for cell in column)
        places = {cell.text.split(" ±")[0].partition(".")[2] for cell in column if "kB" not in cell.text}
        assert len({len(each) for each in places}) == 1


def test_many_measures_of_few_cases_stand_below_one_another():
    flower = find_experiment("flower")
    cycle = flower.grids["cycle"]
    outcome = reproduce(flower, "cycle", 1)
    table = table_of(outcome, cycle)
    assert table.names == ["measure"]
    assert len(table.heads) == len(cycle.cases()) == 2
    assert len(table.rows) == len(cycle.measures)


def test_a_table_says_no_word_of_a_scenario_twice():
    assert named_once("100 ms, 0.4", "100 ms, buffer 0.4 BDP") == ("100 ms, buffer 0.4 BDP", "")
    assert named_once("Reno", "Reno, as a simulator had it") == ("Reno, as a simulator had it", "")
    assert named_once("10", "5 NewReno flows") == ("10", "5 NewReno flows")


def test_what_a_quick_look_shortens_is_said_with_what_it_is_otherwise():
    flower = find_experiment("flower")
    found = _shortened(flower, [flower.grids["shares"]], 2, True)
    assert found[0] == "2 seeds instead of 10"
    assert found[1].startswith("Fig. 8: shares over delays, buffers and numbers of flows: duration = 160 s instead of ")
    assert _shortened(flower, [flower.grids["shares"]], 10, False) == []
    assert _shortened(flower, [flower.grids["decoy"]], 1, False) == ["1 seed instead of 10"]


def test_links_to_experiments_tell_them_apart():
    for experiment in map(find_experiment, ("cpc", "flower", "fuzzyrtt", "led", "lehto")):
        grids = list(experiment.grids.values())
        links = [short_title(each, grids) for each in grids]
        assert len(set(links)) == len(links), experiment.id
    assert short_title(grids[0], grids) == "Table 2"


ORIGINS = {
    "cpc": {"ours": {"A3b", "A7d", "E12", "F2", "S5b", "B1", "B2", "B3", "B4"}, "theory": {"F1"}, "judge": {"N1"}},
    "flower": {"ours": {"F23b", "F23c"}},
    "fuzzyrtt": {"ours": {"S1", "S2", "S4", "S5", "E1", "L1"}},
    "led": {
        "theory": {"D1v", "D2v", "D3v"},
        "judge": {"N-ftp", "N-reverse", "N-lot"},
        "ours": {"F13-AVQ", "F13-BLUE", "S1", "S2", "S3"},
    },
    "lehto": {},
}


@pytest.mark.parametrize("name", ORIGINS)
def test_every_claim_says_whose_it_is(name):
    experiment = find_experiment(name)
    found: dict[str, set[str]] = {}
    for claim in experiment.claims:
        if claim.origin != "paper":
            found.setdefault(claim.origin, set()).add(claim.table or claim.id)
    assert found == ORIGINS[name]
    theirs = [claim for claim in experiment.claims if "paper" in claim.where and claim.origin == "paper"]
    assert not theirs  # "beyond the paper", "not in the paper"


def test_what_another_simulator_gave_is_not_called_published():
    led = find_experiment("led")
    assert led.published == {}
    assert len(led.reference) == 184
    tables = [claim for claim in led.claims if claim.table]
    assert tables
    assert all(part.published is None and part.expected is not None for claim in tables for part in claim.parts)


@pytest.mark.slow
def test_the_same_seeds_give_the_same_report(here, lehto):
    one, other = (reproduce(lehto, "surfaces", 2) for _ in range(2))
    assert one.fingerprint() == other.fingerprint()
    pages = [write_report(outcome, here / name)[-1].read_text() for name, outcome in (("a", one), ("b", other))]
    assert pages[0] == pages[1]


def test_reproduce_prints_published_beside_measured(capsys, here):
    assert main(["reproduce", "lehto", "table2", "--seeds", "2", "--out", "r"]) == 0
    printed = capsys.readouterr().out
    assert "2068/" in printed
    assert "report:  r/report.html" in printed
    assert "not judged" not in printed
    assert (here / "r" / "report.html").exists()


def spoiled(tmp_path, file, old, new):
    """A copy of the paper with one line changed."""
    copy = tmp_path / "paper"
    shutil.copytree(LEHTO, copy)
    text = (copy / file).read_text()
    assert old in text
    (copy / file).write_text(text.replace(old, new, 1))
    return copy


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        (MAIN, "quick        = 3", "quik = 3", MAIN + ": quik: expected one of id, aliases, title,"),
        (MAIN, "year    = 2005", 'year = "2005"', MAIN + ': year: expected a whole number, got "2005"'),
        (
            MAIN,
            'queues    = ["red", "fuzzy", "pd"]',
            'queues = ["blue"]',
            'grids.table2.queues: expected one of red, fuzzy, first, pd, pd60, pd25, exact, droptail, got "blue"',
        ),
        (MAIN, "decimals = 0 }", "digits = 0 }", "measures.drops.digits: expected one of label, path,"),
        (MAIN, "decimals = 0 }", 'series = "x" }', "measures.drops: expected one of path, series, share_of"),
        (
            MAIN,
            "backlog    = [0, 100]",
            "backlog = [100, 0]",
            "figures[fig1].backlog: expected two numbers, the smaller first, got [100.0, 0.0]",
        ),
        (MAIN, 'kind       = "surface"', 'kind = "sphere"', "figures[fig1].kind: expected one of surface, by-"),
        (MAIN, "replications = 10", "replications = 0", "replications: expected a number of 1 or more, got 0"),
        ("claims.toml", 'holds   = "> 3"', 'holds = "about 3"', 'claims[L1].parts[1].holds: expected "> 3", ">= 3"'),
        ("claims.toml", 'holds   = "> 3"', "", "claims[L1].parts[1]: expected holds, or published with"),
        ("claims.toml", 'id     = "L2"', 'id = "L1"', 'claims[L1].id: expected a name used once, got "L1" again'),
        ("claims.toml", 'for     = { s = ["s3", "s4", "s6"] }', "", '.measure: expected "s" among the lists'),
        (
            "claims.toml",
            "relative = 0.15",
            "relative = -0.15",
            "tables[T2].tolerances[1].relative: expected a number of 0 or more, got -0.15",
        ),
        ("claims.toml", "[[claims.parts]]", "[[claims.pieces]]", "claims[L1].pieces: expected one of id, where, text,"),
        (MAIN, "change     = [-12, 12]", "change = [-12]", "figures[fig1].change[2]: expected a value"),
        ("expected/table2.csv", "s1,red,drops,2068", "s1,red,drops,many", "table2.csv:2: row: expected scenario,"),
        ("deviations.toml", 'id    = "D1"', "", "deviations[1].id: expected a value, got none"),
        ("claims.toml", "[[tables]]", "[[tables", "claims.toml:28:9: not TOML: "),
    ],
)
def test_a_wrong_paper_is_refused_in_one_line(tmp_path, file, old, new, says):
    with pytest.raises(UserError) as error:
        load_experiment(spoiled(tmp_path, file, old, new))
    assert says in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("s3.red.queue_sd / s3.pd.queue_sd", "s9.red.queue_sd", "s9.red.queue_sd"),
        ("s3.red.queue_sd / s3.pd.queue_sd", "s3.red.queue_size", 'got "queue_size"'),
        (
            "s3.red.queue_sd / s3.pd.queue_sd",
            "s3.red.quick.queue_sd",
            "setting of s3.red.quick.queue_sd: expected one of rtt50",
        ),
        ("s3.red.queue_sd / s3.pd.queue_sd", "wish(1)", 'got "wish" in'),
    ],
)
def test_a_measure_that_means_nothing_is_refused(tmp_path, old, new, says):
    experiment = load_experiment(spoiled(tmp_path, "claims.toml", old, new))
    with pytest.raises(UserError) as error:
        judge_claim(experiment.claims[21], published_outcome(experiment), law_functions(experiment))
    assert says in str(error.value)


def test_a_paper_is_found_by_name_alias_and_folder():
    assert (
        find_experiment("lehto").id
        == find_experiment("lehto-2005").id
        == find_experiment(str(LEHTO)).id
        == "lehto-2005"
    )


def test_deviations_say_what_why_and_what_else(lehto):
    assert [d.id for d in lehto.deviations] == [f"D{n}" for n in range(1, len(lehto.deviations) + 1)]
    assert all(d.paper and d.here and d.why for d in lehto.deviations)
    assert np.sum([len(d.tried) for d in lehto.deviations]) > 10


def test_the_other_reading_of_fuzzyrtts_outputs_is_twice_the_unit():
    """So it is not run next to the other reading (D3)."""
    scenario = find_experiment("fuzzyrtt").scenario(Case("y1_light_10", "fuzzy"), {"duration": "8 s", "warmup": "4 s"})
    queue = scenario.get_path("links.bottleneck.queue")
    prints = {
        name: run(scenario.copy().set("links.bottleneck.queue", {**queue, **other}), seed=1)["fingerprint"]
        for name, other in {"usual": {}, "other": {"output": "b"}, "twice": {"unit": 2 * queue["unit"]}}.items()
    }
    assert prints["other"] == prints["twice"] != prints["usual"]
