"""Tables and plots of a comparison: queues within a link, and the choice of measures."""

import itertools
import math
import re

import numpy as np
import pytest

import sojourn as sj
from sojourn.cli import main
from sojourn.cli.output import out
from sojourn.compare.cases import Case
from sojourn.core import record_schema
from sojourn.core.measure_lookup import resolved
from sojourn.core.measure_paths import measures_of
from sojourn.plots import distributions

WAITS = [f"{name} wait {what}" for name in ("low-latency", "classic") for what in ("mean", "p95", "p99")]
QUEUES = "dualpi2(ecn=true),codel(ecn=true)"


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    """Tables of 120 columns, so that all cases fit in one."""
    monkeypatch.setattr(out, "width", 120)


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


def test_the_waits_of_each_queue_are_drawn_beside_those_of_the_link_in_a_run(both):
    both.set("links.bottleneck.queue", {"aqm": "dualpi2", "ecn": True}).set("trace.wait", {"links": ["bottleneck"]})
    axes = sj.run(both).plot.cdf("wait")
    names = ["bottleneck", "bottleneck: low-latency", "bottleneck: classic"]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == names


def test_a_value_of_a_controller_that_is_0_all_the_time_has_no_panel(both):
    record = sj.run(both.set("trace.controller", {"flows": ["scalable/0"]}))
    series = record.series["controller/scalable/0"]
    idle = {column for column, values in series.items() if not np.nan_to_num(values).any()}
    drawn = {axes.get_ylabel().partition(" (")[0] for axes in record.plot()}
    assert idle
    assert "pacing_rate" in drawn
    assert not idle & drawn


def _titles(found):
    return [axes.get_title(loc="left") for axes in found.plot.overview()]


def test_a_measure_of_one_case_of_several_has_no_panel_and_stays_in_the_table(both):
    found = sj.compare(both, QUEUES, seeds=2)
    assert len(_titles(found)) == len(found.measures) - len(WAITS)
    assert not any(title.startswith(tuple(WAITS)) for title in _titles(found))
    assert set(WAITS) <= set(found.table()["measure"])
    alone = sj.compare(both, "dualpi2(ecn=true)", seeds=2)
    assert len(_titles(alone)) == len(alone.measures)


@pytest.mark.parametrize(("cc", "drawn"), [("bbr", False), ("reno", True)])
def test_the_legend_has_a_threshold_only_where_one_is_drawn(dumbbell, cc, drawn):
    changes = {"tcp.control.cc": cc, "trace.controller": {"flows": ["ftp/0"]}, "flows.ftp.count": 2}
    record = sj.run(sj.load(dumbbell).set_all(changes).set("trace.cwnd", {"flows": ["ftp/0"], "every": "20 ms"}))
    for axes in (record.plot.controller("cwnd"), record.plot.cwnd()):
        labels = axes.get_legend_handles_labels()[1]
        assert ("ssthresh" in labels) == drawn


def test_measures_have_the_names_of_tables_and_the_ends_of_paths_too(both, here, capsys):
    (here / "both.toml").write_text(both.to_toml())
    names = ["utilization", "wait p95", "jain", "other RTT mean", "wait_ms.p99", "goodput"]
    compare = ["compare", "both.toml", "--queues", "red,pd", "--seeds", "2", "--out", "found"]
    assert main([*compare, *(word for name in names for word in ("--measure", name))]) == 0
    rows = [line.split("│")[1].strip() for line in capsys.readouterr().out.splitlines() if line.startswith("│")]
    assert rows[:6] == ["utilization", "wait p95", "Jain's index", "other RTT mean", "wait p99", "goodput"]
    paths = ["links.bottleneck.wait_ms.p95", "groups.other.rtt_ms.mean", "total.jain"]
    assert main(["plot", "found", *(word for path in paths for word in ("--measure", path))]) == 0
    assert {"wait-p95.png", "other-RTT-mean.png", "Jain-s-index.png"} <= {
        each.name for each in (here / "found").iterdir()
    }
    assert main(["plot", "found", "--measure", "links.bottleneck.wait_ms.p50"]) == 2


def test_a_plot_of_a_saved_comparison_is_of_the_link_or_group_that_its_path_names(dumbbell, here, capsys):
    compare = ["compare", str(dumbbell), "--queues", "red,pd", "--seeds", "2", "--out", "found"]
    assert main([*compare, "--measure", "utilization", "--measure", "links.bottleneck:back.queue.mean"]) == 0
    capsys.readouterr()
    for there in ('links."bottleneck".utilization', "links.bottleneck:back.queue.mean"):
        assert main(["plot", "found", "--measure", there]) == 0
    assert "wrote found/: bottleneck-back-queue-mean.png" in capsys.readouterr().out
    wrong = ["links.bottleneck:back.utilization", "links.nosuch.utilization", "links.*.utilization", "a..b"]
    for other in [*wrong, "links.bottleneck.queue.mean", "groups.nosuch.utilization", "total.utilization"]:
        assert main(["plot", "found", "--measure", other]) == 2
        assert f'expected one of utilization, bottleneck:back queue mean, got "{other}"' in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "several"),
    [
        ("mean", ["links.bottleneck.queue.mean", "links.bottleneck.wait_ms.mean", "groups.ftp.rtt_ms.mean"]),
        ("sd", ["links.bottleneck.queue.sd", "links.bottleneck.queue_bytes.sd", "groups.ftp.rtt_ms.sd"]),
        ("p99", ["links.bottleneck.wait_ms.p99", "groups.ftp.rtt_ms.p99", "groups.ftp.completion_s.p99"]),
        ("queue max", ["links.bottleneck.queue.max", "links.bottleneck.queue_bytes.max"]),
    ],
)
@pytest.mark.parametrize("command", ["run", "compare"])
def test_a_name_of_several_measures_is_refused_and_they_are_listed(dumbbell, capsys, command, name, several):
    assert main([command, str(dumbbell), "--measure", name, *(["--cc=reno"] if command == "compare" else [])]) == 2
    said = capsys.readouterr()
    assert said.err.startswith("error: --measure: expected one of links.bottleneck.")
    assert said.err.endswith(f', got "{name}"\n')
    assert all(path in said.err for path in several)
    assert said.out == ""


def test_many_measures_of_one_name_are_listed_by_the_ends_of_their_paths():
    known = measures_of([f"link{number}" for number in range(9)], ["ftp"])
    with pytest.raises(sj.UserError) as refused:
        resolved(["mean"], known, "link1", "--measure")
    fields = "queue.mean, queue_bytes.mean, wait_ms.mean, rtt_ms.mean, completion_s.mean"
    assert str(refused.value) == f'--measure: expected one of {fields}, got "mean"'
    meant = {"queue mean": "queue.mean", "utilization": "utilization", "wait_ms.p95": "wait_ms.p95"}
    assert resolved(meant, known, "link1", "") == [f"links.link1.{field}" for field in meant.values()]
    assert resolved(["link2 wait max"], known, "link1", "") == ["links.link2.wait_ms.max"]


def test_each_measure_that_is_named_has_its_row(dumbbell, capsys):
    # Tables use one name for a queue's mean in packets and in bytes, and for measures of a link and of all flows.
    wanted = ["queue.mean", "queue_bytes.mean", "links.bottleneck.marked", "total.marked"]
    names = [f"--measure={name}" for name in wanted]
    assert main(["compare", str(dumbbell), "--queues", "red,pd", "--seeds", "1", *names]) == 0
    labels = ["queue mean in packets", "queue mean in bytes", "bottleneck marked", "total marked"]
    assert list(rows(capsys.readouterr().out)) == labels


@pytest.mark.parametrize(("seeds", "head"), [("1", "value"), ("2", "mean ± 95 % CI")])
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
        ("wait p98", "expected one of "),
        ("links.bottlenek.wait_ms.p99", f'did you mean "{P99}"'),
        ("links.bottleneck.queues.classic.wait_ms.p999", 'did you mean "links.bottleneck.queues.NAME.wait_ms.p99"'),
        ("links.bottleneck.queues.*.marked", "expected one of "),
        ("links.bottleneck.wait_ms", r"expected one of \d+ names, such as "),
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


def page(values, **axes):
    """The formats and weights of cases with these values of a measure, one for each seed.

    `axes` are the varied fields.
    """
    names = [" with ".join(each) for each in itertools.product(*axes.values())]
    records = {
        name: [sj.Record({"scenario": "x", "x": x}) for x in each] for name, each in zip(names, values, strict=True)
    }
    at = [dict(zip(axes, each, strict=True)) for each in itertools.product(*axes.values())]
    cases = [Case(name, each, sj.Scenario({})) for name, each in zip(names, at, strict=True)]
    seeds = list(range(len(values[0])))
    found = sj.Comparison("x", "up", seeds, records, [sj.Measure("x", "x", better="lower")], cases)
    drawn = found.plot.means("x")
    points = [container.lines[0] for container in drawn.containers]
    bold = [text.get_fontweight() == "bold" for text in drawn.texts]
    assert bold == [point.get_markerfacecolor() != "white" for point in points] or len(seeds) == 1
    return [(point.get_color(), point.get_marker()) for point in points], bold


def test_a_color_is_a_queue_and_a_marker_a_controller():
    queues, controllers = ["droptail", "red", "codel", "pie"], ["reno", "cubic", "bbr3"]
    looks, _ = page([[1.0]] * 12, queue=queues, cc=controllers)
    colors, markers = ([look[i] for look in looks] for i in (0, 1))
    assert [len({*colors[at : at + 3]}) for at in (0, 3, 6, 9)] == [1, 1, 1, 1]
    assert len(set(colors)) == 4
    assert markers == markers[:3] * 4
    assert len(set(markers)) == 3
    alone, _ = page([[1.0]] * 3, queue=["red"], cc=controllers)
    assert len({color for color, _ in alone}) == 3
    many, _ = page([[1.0]] * 11, queue=[str(i) for i in range(11)])
    assert len(set(many)) == 1


@pytest.mark.parametrize(
    ("values", "bold"),
    [
        ([[1.4, 1.5, 1.6], [50.0, 100.0, 117.0], [200.0, 201.0, 202.0]], [False, False, False]),  # 89 ± 87 may be 1.5
        ([[1.4, 1.5, 1.6], [89.0, 89.1, 88.9], [200.0, 201.0, 202.0]], [True, False, False]),
        ([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [4.0, 5.0, 6.0]], [True, True, False]),
        ([[0.0, 0.0, 0.0]] * 3, [False] * 3),
        ([[1.0], [2.0], [3.0]], [False] * 3),
    ],
)
def test_bold_is_only_what_is_better_than_every_other_case(values, bold):
    assert page(values, queue=["red", "pd", "pie"])[1] == bold


def test_what_all_cases_have_in_common_is_in_the_title_alone(dumbbell):
    found = sj.compare(dumbbell, "red(ecn=true)", 1, cc="cubic", vary={"flows.ftp.count": [1, 2]})
    assert list(found.records) == ["count=1", "count=2"]
    assert found.title == "dumbbell with red(ecn=true) with cubic, link bottleneck, 1 seed"
    assert set(found.table()["cc"]) == {"cubic"}
    alone = sj.compare(dumbbell, "red", 1, cc="cubic")
    assert list(alone.records) == ["red with cubic"]
    assert alone.title == "dumbbell, link bottleneck, 1 seed"
    with pytest.raises(sj.ScenarioError, match="with red with cubic with count=-1"):
        sj.compare(dumbbell, "red", 1, cc="cubic", vary={"flows.ftp.count": [1, -1]})


def test_quantiles_of_a_histogram_are_said_to_be_inexact_and_no_case_is_better_by_that(both, here, capsys):
    (here / "both.toml").write_text(both.to_toml())
    line = "p95, p99, responsiveness: from a histogram, so each may be wrong by 1.6 % more than its interval says"
    assert main(["compare", "both.toml", "--queues", QUEUES, "--seeds", "2"]) == 0
    assert capsys.readouterr().out.splitlines().count(line) == 1
    assert main(["run", "both.toml", "--seeds", "2"]) == 0
    assert line.replace("p95, p99", "p95") in capsys.readouterr().out.splitlines()
    assert main(["run", "both.toml", "--seeds", "2", "--measure", "total.jain"]) == 0
    assert "histogram" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("path", "error", "best"),
    [
        ("wait_ms.p95", 1 / 64, ["a", "b"]),
        ("queues.classic.wait_ms.p99", 1 / 64, ["a", "b"]),
        ("wait_ms.mean", 0, ["a"]),
    ],
)
def test_a_case_is_better_by_more_than_a_histogram_may_be_off(path, error, best):
    one = record_schema.chosen([f"links.up.{path}"], "up")[0]
    assert one.error == error
    field, last = one.path.rpartition(".")[0], path.rpartition(".")[2]

    def record(value):
        made = sj.Record({"scenario": "x", "links": [{"name": "up", "queues": [{"name": "classic"}]}]})
        at = made["links"][0]["queues"][0] if "classic" in field else made["links"][0]
        at["wait_ms"] = {last: value}
        return made

    records = {case: [record(value)] * 3 for case, value in {"a": 100.0, "b": 103.0, "c": 110.0}.items()}
    assert sj.Comparison("x", "up", [1, 2, 3], records, [one]).best(one) == best


def test_drops_of_one_group_of_several_have_its_color_and_its_name(both):
    trace = {"signals": {"links": ["bottleneck"]}}
    marking = {"aqm": "dualpi2", "ecn": True}
    two_queues = sj.run(both.set("links.bottleneck.queue", marking).set("trace", trace), seed=1)
    signals = two_queues.series["signals/bottleneck"]
    group = two_queues["flows"][int(signals["flow"][signals["cause"] == 4][0])]["group"]
    kept = (signals["cause"] != 4) | (signals["flow"] == [flow["group"] for flow in two_queues["flows"]].index(group))
    series = {"signals/bottleneck": {name: column[kept] for name, column in signals.items()}}
    alone = sj.Record(two_queues, series)
    axes = alone.plot.marks()
    (line,) = axes.lines
    colors = {line.get_label(): line.get_color() for line in two_queues.plot.marks().lines}
    assert (line.get_label(), line.get_color()) == (group, colors[group])
    assert group in {text.get_text() for text in axes.get_legend().get_texts()}


RANDOM = "nothing in these runs is random: every seed has the same result, so there is no interval"


def test_cases_in_which_nothing_is_random_are_named(capsys, dumbbell, here):
    one = sj.load(dumbbell).set("flows.ftp.start", "0 s").set("flows.ftp.count", 1)
    (here / "one.toml").write_text(one.to_toml())
    fixed = "--set=flows.ftp.access.delay=1 ms"
    for names, said in (("droptail,red", [f"droptail: {RANDOM}"]), ("droptail,codel", [RANDOM])):
        assert main(["compare", "one.toml", "--queues", names, "--seeds", "2", fixed]) == 0
        printed = capsys.readouterr().out.splitlines()
        assert [line for line in printed if RANDOM in line] == said
        intervals = [len(re.findall("±| to ", line)) for line in printed if line.startswith("│ queue mean")]
        assert intervals == ([1, 1] if names == "droptail,red" else [0, 0])  # RED's, and the difference from it
    axis = '"links.bottleneck.queue.aqm" = ["droptail", "red"]'
    (here / "grid.toml").write_text(f'scenario = "one.toml"\nreplications = 2\n[axes]\n{axis}\n')
    assert main(["sweep", "grid.toml", fixed]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [line for line in printed if RANDOM in line] == [f"bottleneck queue aqm=droptail: {RANDOM}"]
    assert not any("±" in line for line in printed if line.startswith("│ droptail"))
    assert any(re.search("±| to ", line) for line in printed if line.startswith("│ red"))


def test_one_file_is_not_written_by_two_options(capsys, dumbbell, here):
    assert main(["run", str(dumbbell), "--pcap", "a.qlog", "--qlog", str(here / "a.qlog")]) == 2
    assert "expected another file than that of --pcap" in capsys.readouterr().err
    assert not (here / "a.qlog").exists()
