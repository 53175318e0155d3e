"""What tables and plots of a comparison show: of queues within a link, and which measures."""

import math
import re

import numpy as np
import pytest

import sojourn as sj
from sojourn.cli import main
from sojourn.plots import distributions

WAITS = [f"{name} wait {what}" for name in ("low-latency", "classic") for what in ("mean", "p95", "p99")]
QUEUES = "dualpi2(ecn=true),codel(ecn=true)"


@pytest.fixture
def both(dumbbell):
    """The dumbbell with a scalable and a classic flow."""
    scenario = sj.load(dumbbell)
    flow = {**scenario["flows"][0], "count": 1}
    scenario["flows"] = [
        {**flow, "name": "scalable", "tcp": {"control": {"cc": "prague"}, "ecn": "l4s"}},
        {**flow, "name": "other", "tcp": {"control": {"cc": "cubic"}, "ecn": True}},
    ]
    return scenario


def test_each_queue_of_a_dual_queue_has_rows_which_are_empty_where_a_case_has_no_such_queue(both, capsys, here):
    (here / "both.toml").write_text(both.to_toml())
    found = sj.compare(both, QUEUES, seeds=2)
    labels = [measure.label for measure in found.measures]
    assert [label for label in labels if label in WAITS] == WAITS
    shown = found.estimates()
    queues = [
        {queue["name"]: queue["wait_ms"] for queue in record.value("links.bottleneck.queues")}
        for record in found.records["dualpi2(ecn=true)"]
    ]
    for name in ("low-latency", "classic"):
        mean = sum(waits[name]["p99"] for waits in queues) / 2
        assert shown[f"{name} wait p99"]["dualpi2(ecn=true)"].mean == pytest.approx(mean)
        assert math.isnan(shown[f"{name} wait p99"]["codel(ecn=true)"].mean)
    assert shown["low-latency wait p99"]["dualpi2(ecn=true)"].mean < shown["classic wait p99"]["dualpi2(ecn=true)"].mean
    main(["compare", "both.toml", "--queues", QUEUES, "--seeds", "2"])
    said = capsys.readouterr().out.splitlines()
    rows = [line.split("│") for line in said if line.startswith("│ classic wait p99")]
    assert len(rows) == 1  # the difference from a queue that is not there is no row
    assert rows[0][3].strip() == "–"


def test_a_link_without_queues_of_its_own_is_compared_as_a_whole(both, dumbbell):
    assert not set(WAITS) & {measure.label for measure in sj.compare(both, ["codel", "pie"], seeds=1).measures}
    classic = sj.compare(sj.load(dumbbell), ["dualpi2", "pie"], seeds=1)  # all of whose packets are in one queue
    assert not set(WAITS) & {measure.label for measure in classic.measures}


def test_a_measure_that_a_record_must_have_is_refused_where_it_is_missing(both):
    found = sj.compare(both, ["codel"], seeds=1)
    with pytest.raises(sj.UserError, match=r'expected one of .* got "qeue"'):
        found.values("codel", sj.Measure("x", "links.bottleneck.qeue.mean"))


def test_the_waits_of_each_queue_are_drawn_beside_those_of_the_link(both):
    both["trace"] = {"wait": {"links": ["bottleneck"]}}
    found = sj.compare(both, QUEUES, seeds=2)
    axes = found.plot.cdf("wait")
    lines = {str(line.get_label()): line for line in axes.lines}
    dual = "dualpi2(ecn=true)"
    assert list(lines) == [dual, f"{dual}: low-latency", f"{dual}: classic", "codel(ecn=true)"]
    assert [line.get_linestyle() for line in lines.values()] == ["-", "--", "--", "-"]
    assert len({line.get_color() for name, line in lines.items() if name.startswith(dual)}) == 1
    assert len({line.get_marker() for name, line in lines.items() if ":" in name}) == 2
    record = found.records[dual][0]
    parts = distributions.within(record, "wait", "bottleneck")
    classic = record.value("links.bottleneck.queues.classic.wait_ms")
    assert parts["classic"].values[-1] == classic["max"]
    drawn = lines[f"{dual}: classic"].get_xdata()
    means = [np.mean([each.value("links.bottleneck.queues.classic.wait_ms.p99") for each in found.records[dual]])]
    assert drawn[-2] == pytest.approx(means[0])
    assert [text.get_text() for text in axes.texts] == ["dashed: quantiles only"]


P99 = "links.bottleneck.wait_ms.p99"
LOW = "links.bottleneck.queues.low-latency.wait_ms.p99"


def rows(text):
    """The cells of the tables in a text, by the first of each row."""
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in text.splitlines() if line.startswith("│")]
    return {first: rest for first, *rest in cells}


def test_measures_that_are_named_are_the_rows_of_a_comparison(both, here, capsys):
    (here / "both.toml").write_text(both.to_toml())
    wanted = [f"--measure={each}" for each in (P99, LOW, "groups.other.rtt_ms.p99", "total.jain")]
    assert main(["compare", "both.toml", "--queues", QUEUES, "--seeds", "1", "--out", "x", *wanted]) == 0
    found = rows(capsys.readouterr().out)
    assert list(found) == ["wait p99", "low-latency wait p99", "other RTT p99", "Jain's index"]
    record = sj.run(sj.load("both.toml").set("links.bottleneck.queue", {"aqm": "dualpi2", "ecn": True}))
    assert found["low-latency wait p99"][:2] == [f"{record.value(LOW):.4g}", "–"]
    assert (here / "x" / "overview.png").exists()


@pytest.mark.parametrize(("seeds", "head"), [("1", "value"), ("2", "mean ± 95 %")])
def test_measures_that_are_named_are_the_rows_of_runs(both, here, capsys, seeds, head):
    both["links"][0]["queue"] = {"aqm": "dualpi2", "ecn": True}
    (here / "both.toml").write_text(both.to_toml())
    wanted = [f"--measure={each}" for each in (P99, LOW, P99, "links.bottleneck.queues.x.marked")]
    assert main(["run", "both.toml", "--seeds", seeds, *wanted]) == 0
    said = capsys.readouterr()
    assert list(rows(said.out)) == [f"bottleneck {each}" for each in ("wait p99", "low-latency wait p99", "x marked")]
    assert head in said.out
    assert said.err == "links.bottleneck.queues.x.marked: null in every run\n"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("links.bottleneck.wait_ms.p99.9", f'p90, .*p95, {P99}, .*max, got ".*p99.9"; did you mean "{P99}"'),
        ("wait_ms.p99", f"expected one of {P99}, links.bottleneck.queues.NAME.wait_ms.p99"),
        ("links.bottlenek.wait_ms.p99", f'did you mean "{P99}"'),
        ("links.bottleneck.queues.classic.wait_ms.p999", 'did you mean "links.bottleneck.queues.NAME.wait_ms.p99"'),
        ("links.bottleneck.queues.*.marked", "expected one of "),
        ("links.bottleneck.wait_ms", r"\(.* names in all\)"),
        ("links", "expected one of "),
        ("a..b", "expected one of "),
    ],
)
@pytest.mark.parametrize("command", ["run", "compare"])
def test_what_is_no_measure_is_refused_before_the_first_run(dumbbell, capsys, command, wrong, says):
    arguments = [command, str(dumbbell), f"--measure={wrong}", *(["--cc=reno"] if command == "compare" else [])]
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert re.search(says, said.err)
    assert said.out == ""


def test_records_as_json_are_whole(dumbbell, capsys):
    assert main(["run", str(dumbbell), "--json", f"--measure={P99}"]) == 2
    assert "--measure: expected tables, got --json" in capsys.readouterr().err


def test_a_sweep_has_the_measures_of_queues(both):
    found = sj.sweep(both, {"links.bottleneck.queue.aqm": ["dualpi2", "codel"]})
    waits = found.runs[LOW].tolist()
    assert waits[0] > 0
    assert math.isnan(waits[1])
    assert found.plot.means(LOW).get_ylabel() == "low-latency wait p99 (ms)"
