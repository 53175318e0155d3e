"""Plots: their content, their axes, and their files."""

import sys
import tomllib

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import sojourn as sj
from sojourn.cli import main, runs
from sojourn.core import record_schema
from sojourn.core.traces import TO_ADD
from sojourn.plots import distributions, summaries
from sojourn.plots.results import plot_record
from sojourn.plots.style import style_of
from tests.conftest import DUMBBELL
from tests.support.source_tree import ROOT

TRACE = {
    "queue": {"links": ["bottleneck"], "every": "50 ms"},
    "cwnd": {"flows": ["*"], "every": "50 ms"},
    "rtt": {"flows": ["*"]},
    "throughput": {"flows": ["*"], "links": ["bottleneck"], "every": "500 ms"},
}


@pytest.fixture(autouse=True)
def closed():
    """Closes the figures of a test, so that no more than twenty are open."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


@pytest.fixture(scope="module")
def record():
    return sj.run(sj.loads(DUMBBELL).set("trace", TRACE))


@pytest.fixture(scope="module")
def comparison():
    from tests.conftest import DUMBBELL

    return sj.compare(sj.loads(DUMBBELL).set("trace", {"rtt": {"flows": ["*"]}}), ["droptail", "red"], seeds=3)


@pytest.mark.parametrize("name", ["queue", "delay", "cwnd", "throughput", "rtt"])
def test_each_plot_of_a_run_gives_its_axes_and_takes_those_of_others(record, name):
    made = getattr(record.plot, name)()
    assert isinstance(made, Axes)
    assert made.get_xlabel() == "time (s)"
    assert "nan" not in made.get_ylabel()
    mine = Figure().add_subplot()
    assert getattr(record.plot, name)(mine) is mine
    assert mine.lines


def test_the_delay_is_shown_in_milliseconds(record):
    axes = record.plot.delay()
    assert axes.get_ylabel() == "queuing delay (ms)"
    shown = axes.lines[0].get_ydata()
    assert np.allclose(shown, 1e3 * record.series["queue/bottleneck"]["delay_s"])


def test_the_threshold_before_the_first_loss_does_not_set_the_scale(record):
    largest = max(record.series[f"cwnd/ftp/{i}"]["packets"].max() for i in range(3))
    assert max(record.series[f"cwnd/ftp/{i}"]["ssthresh"].max() for i in range(3)) > 1e5
    assert record.plot.cwnd().get_ylim()[1] < 2.5 * largest


@pytest.fixture(scope="module")
def controllers():
    """A run of FLOWER next to BBR, with the traces of both."""
    from tests.conftest import DUMBBELL

    group = DUMBBELL[DUMBBELL.index("[[flows]]") :]
    second = group.replace('name = "ftp"', 'name = "back"\ntcp = { control = { cc = "flower" } }')
    scenario = tomllib.loads(DUMBBELL + second) | {"tcp": {"profile": "linux", "control": {"cc": "bbr"}}}
    # So long that FLOWER meets a falling delay.
    traced = sj.Scenario(scenario).set("duration", "30 s").set("trace", {"controller": {"flows": ["ftp/0", "back/0"]}})
    return sj.run(traced)


def test_controllers_are_drawn_in_a_panel_for_each_of_their_values(controllers):
    drawn = {axes.get_ylabel(): axes for axes in controllers.plot()}
    assert {"cwnd (segments)", "bw (segments/s)", "mode", "trend_term"} <= set(drawn)
    of_bbr, of_flower = (controllers.series[f"controller/{flow}"] for flow in ("ftp/0", "back/0"))
    assert np.array_equal(drawn["bw (segments/s)"].lines[0].get_ydata(), of_bbr["bw"], equal_nan=True)
    assert len(drawn["mode"].lines) == len(drawn["trend_term"].lines) == 1
    assert np.nanmin(of_flower["trend_term"]) < 0
    assert drawn["trend_term"].get_ylim()[0] <= np.nanmin(of_flower["trend_term"])
    with pytest.raises(sj.UserError, match=r'value of controllers of dumbbell, seed 1: expected .*, got "alpha"'):
        controllers.plot.controller("alpha")
    with pytest.raises(sj.UserError, match=r'value of controller/back/0: expected .*, got "bw"'):
        controllers.plot.controller("bw", names=["ftp/0", "back/0"])
    assert [line.get_label() for line in controllers.plot.controller("ssthresh").lines] == ["back/0"]


def test_drops_marks_and_retransmissions_are_counted_over_time():
    from tests.conftest import DUMBBELL

    trace = {"signals": {"links": ["bottleneck"]}, "retransmissions": {"flows": ["*"]}}
    record = sj.run(sj.loads(DUMBBELL).set("trace", trace).set("links.bottleneck.queue.limit", "20 packets"))
    drawn = {axes.get_ylabel(): axes.lines for axes in record.plot()}
    assert drawn["packets dropped so far"][0].get_ydata()[-1] == len(record.series["signals/bottleneck"]["t"])
    flows = [name for name in record.series if name.startswith("retransmissions/")]
    assert [line.get_ydata()[-1] for line in drawn["segments retransmitted so far"]] == [
        len(record.series[name]["t"]) for name in flows
    ]


@pytest.fixture(scope="module")
def two_queues():
    """A dual queue with a scalable and a classic group, out of the scenario's order by name."""
    from tests.conftest import DUMBBELL

    scenario = sj.loads(DUMBBELL).set("links.bottleneck.queue", {"aqm": "dualpi2", "ecn": True}).set("duration", "10 s")
    scalable, classic = {**scenario["flows"][0], "count": 1}, {**scenario["flows"][0], "count": 1, "name": "classic"}
    scenario["flows"] = [
        {**scalable, "name": "scalable", "tcp": {"control": {"cc": "prague"}, "ecn": "l4s"}},
        {**classic, "tcp": {"control": {"cc": "cubic"}, "ecn": True}},
    ]
    traced = {"links": ["bottleneck"]}
    trace = {"queue": {**traced, "every": "10 ms"}, "signals": traced, "rtt": {"flows": ["*"]}}
    return sj.run(scenario.set("trace", trace), seed=1)


def test_both_queues_of_a_dual_queue_are_drawn_below_the_whole(two_queues):
    panels = two_queues.plot.panels()["queue"]
    assert [draw.__name__ for draw in panels] == ["queue", "subqueues", "delay", "probability"]
    lines = {line.get_label(): line.get_ydata() for line in two_queues.plot.subqueues().lines}
    assert set(lines) == {"bottleneck/low-latency", "bottleneck/classic"}
    assert sum(lines.values()) == pytest.approx(two_queues.series["queue/bottleneck"]["packets"])
    assert max(lines["bottleneck/low-latency"]) > 0
    drawn = {axes.get_ylabel(): axes for axes in two_queues.plot()}
    legend = drawn["packets in each queue"].get_legend()
    assert {"bottleneck/low-latency", "bottleneck/classic"} <= {text.get_text() for text in legend.get_texts()}
    assert drawn["queuing delay (ms)"].get_legend() is None  # its lines are those of the panel above


def test_delay_and_probability_of_a_dual_queue_are_drawn_for_each_queue(two_queues):
    delay, probability = (
        {line.get_label(): line for line in draw().lines}
        for draw in (two_queues.plot.delay, two_queues.plot.probability)
    )
    names = ["bottleneck/low-latency", "bottleneck/classic"]
    assert set(delay) == set(probability) == set(names)
    colors = {line.get_label(): line.get_color() for line in two_queues.plot.subqueues().lines}
    assert {name: line.get_color() for name, line in delay.items()} == colors
    # The law: the root of the classic probability, twice, is the coupled one, as long as that is below 1 (rfc9332#A.1).
    low, classic = (probability[name].get_ydata() / 100 for name in names)
    assert low == pytest.approx(np.minimum(2 * np.sqrt(classic), 1))
    assert 0 < classic.max() < 1
    low, classic = (delay[name].get_ydata() for name in names)
    assert low.mean() < 2 < classic.mean()
    alone = two_queues.plot.delay(names=["bottleneck"]).lines
    assert [line.get_label() for line in alone] == ["bottleneck"]
    assert [line.get_label() for line in two_queues.plot.delay(names=names[1:]).lines] == names[1:]
    with pytest.raises(sj.UserError, match=r"expected one of bottleneck, .*bottleneck/classic"):
        two_queues.plot.delay(names=["bottleneck/clasic"])


def test_marks_are_counted_for_each_group_link_or_flow(two_queues):
    signals, flows = two_queues.series["signals/bottleneck"], two_queues["flows"]
    counts = {
        flow["group"]: int(((signals["cause"] == 4) & (signals["flow"] == i)).sum()) for i, flow in enumerate(flows)
    }
    ways = (None, "link", "group", "flow")
    last = {by: {line.get_label(): line.get_ydata()[-1] for line in two_queues.plot.marks(by=by).lines} for by in ways}
    assert last[None] == last["group"] == counts
    assert last["link"] == {"bottleneck": sum(counts.values())}
    assert last["flow"] == {f"{group}/0": count for group, count in counts.items()}
    with pytest.raises(sj.UserError, match='by: expected one of link, group, flow, got "queue"'):
        two_queues.plot.drops(by="queue")


def test_a_group_has_one_color_over_time_and_in_distributions(two_queues):
    flows = {line.get_label().partition("/")[0]: line.get_color() for line in two_queues.plot.rtt().lines}
    groups = {line.get_label(): line.get_color() for line in two_queues.plot.cdf("rtt").lines}
    marks = {line.get_label(): line.get_color() for line in two_queues.plot.marks().lines}
    assert list(groups) == ["scalable", "classic"]
    assert flows == groups == marks
    alone = two_queues.plot.cdf("rtt", names=["classic"]).lines[0]
    assert alone.get_color() == groups["classic"]


def test_a_flow_has_one_color_in_all_panels_of_controllers(controllers):
    windows = {line.get_label(): line.get_color() for line in controllers.plot.controller("cwnd").lines}
    assert controllers.plot.controller("trend_term").lines[0].get_color() == windows["back/0"] != windows["ftp/0"]


def test_a_trace_that_is_missing_or_misspelled_is_refused(record, dumbbell):
    with pytest.raises(sj.UserError, match=r"queue: expected a trace: add queue = "):
        sj.run(dumbbell).plot.queue()
    with pytest.raises(sj.UserError, match='expected one of bottleneck, got "botleneck"'):
        record.plot.queue(names=["botleneck"])
    with pytest.raises(sj.UserError, match="distribution: expected one of wait, rtt, completion"):
        record.plot.cdf("delay")


def test_a_distribution_that_no_run_has_says_what_a_scenario_needs(record, comparison):
    for plots in (record.plot, comparison.plot):
        with pytest.raises(sj.UserError, match=r"completion: expected flows whose .* add completions = .* \[trace\]"):
            plots.cdf("completion")
    with pytest.raises(sj.UserError, match='expected one of ftp, got "fpt"'):
        comparison.plot.cdf("rtt", names=["fpt"])


def test_what_was_not_traced_says_which_trace_to_add(record):
    with pytest.raises(sj.UserError, match=r'add completions = { flows = \["\*"\] } to \[trace\] of the scenario'):
        _ = record.completions
    with pytest.raises(sj.UserError, match=r"add wait = "):
        record.samples("wait/bottleneck")


@pytest.mark.parametrize("kind", TO_ADD)
def test_what_a_message_says_to_add_is_a_trace(dumbbell, kind):
    scenario = sj.load(dumbbell)
    scenario.set("trace", tomllib.loads(TO_ADD[kind]))
    assert scenario.resolved()["trace"][kind] is not None


def test_a_distribution_is_exact_where_every_sample_was_traced(record):
    since = [record.series[f"rtt/ftp/{i}"]["t"] >= record["warmup_s"] for i in range(3)]
    samples = np.concatenate([record.series[f"rtt/ftp/{i}"]["seconds"][since[i]] for i in range(3)]) * 1e3
    found = distributions.distribution(record, "rtt", "ftp")
    assert found.exact
    assert np.array_equal(found.values, np.sort(samples))
    axes = record.plot.cdf("rtt")
    assert axes.get_xlabel() == "round-trip time of ftp (ms)"
    x, y = axes.lines[0].get_data()
    middle = np.median(samples)
    assert y[np.searchsorted(x, middle, side="right") - 1] == pytest.approx(np.mean(samples <= middle), abs=0.01)
    above = record.plot.cdf("rtt", complement=True)
    assert above.get_yscale() == "log"
    assert min(above.lines[0].get_ydata()) > 0


def test_a_distribution_without_samples_goes_through_the_quantiles_of_the_record(record):
    found = distributions.distribution(record, "wait", "bottleneck")
    wait = record.value("links.bottleneck.wait_ms")
    assert not found.exact
    names = {0.5: "p50", 0.9: "p90", 0.95: "p95", 0.99: "p99", 1.0: "max"}
    assert dict(zip(found.levels, found.values, strict=True)) == {level: wait[name] for level, name in names.items()}
    assert any("quantiles only" in text.get_text() for text in record.plot.cdf("wait").texts)


def test_many_samples_are_thinned_but_the_tail_stays_whole():
    rng = np.random.default_rng(1)
    samples = rng.exponential(size=200_000)
    axes = Figure().add_subplot()
    distributions.draw(axes, distributions.of_samples(samples), style_of(0), "x", True)
    x, y = axes.lines[0].get_data()
    assert len(x) < 5000
    assert set(np.sort(samples)[-50:-1]) <= set(x)
    assert np.abs(y - np.exp(-x)).max() < 0.01  # the distribution that was drawn from


def test_a_comparison_draws_a_curve_for_each_case(comparison):
    axes = comparison.plot.cdf("rtt")
    assert [line.get_label() for line in axes.lines] == ["droptail", "red"]
    samples = [distributions.distribution(r, "rtt", "ftp").values for r in comparison.records["red"]]
    pooled = distributions.pooled([distributions.of_samples(each) for each in samples])
    assert np.array_equal(pooled.values, np.sort(np.concatenate(samples)))
    quantiles = comparison.plot.cdf("wait", complement=True)
    assert len(quantiles.lines) == 2


def test_the_overview_shows_every_measure_and_cuts_no_marker(comparison):
    panels = comparison.plot.overview()
    assert len(panels) == len(comparison.measures)
    assert len({id(axes.figure) for axes in panels}) == 1
    for axes, measure in zip(panels, comparison.measures, strict=True):
        assert axes.get_title(loc="left").startswith(measure.title)
        low, high = axes.get_xlim()
        for case in comparison.records:
            assert low < np.mean(comparison.values(case, measure)) < high


LONG = 'fq-codel(ecn=true,ce_threshold="1 ms",ce_threshold_selector=1,ce_threshold_mask=3)'


def test_a_long_name_of_a_case_is_broken_and_nothing_of_it_is_cut_off(comparison, recwarn):
    records = dict(zip(["dualpi2(ecn=true)", LONG], comparison.records.values(), strict=True))
    found = sj.Comparison("x", "bottleneck", comparison.seeds, records, comparison.measures)
    panels = found.plot.overview()
    page = panels[0].figure
    page.canvas.draw()
    names = panels[0].get_yticklabels()
    assert "".join(names[1].get_text().split()) == "".join(LONG.split())
    for panel in panels:
        for name in panel.get_yticklabels():
            assert page.bbox.x0 <= name.get_window_extent().x0
        assert panel.get_window_extent().width > 0.15 * page.bbox.width
    first, second = (name.get_window_extent() for name in names)
    assert not first.overlaps(second)
    curves = found.plot.cdf("rtt")
    curves.figure.canvas.draw()
    legend = curves.get_legend().get_window_extent()
    assert curves.figure.bbox.x0 <= legend.x0
    assert legend.x1 <= curves.figure.bbox.x1
    assert not recwarn.list


def test_many_long_names_stand_below_the_curves_and_leave_them_their_room(comparison, tmp_path, monkeypatch, recwarn):
    import sojourn.plots.results as results

    drawn = []
    monkeypatch.setattr(results, "save_figure", lambda made, folder, name: drawn.append(made) or [folder / name])
    records = {f"{LONG} {number}": comparison.records["red"] for number in range(8)}
    found = sj.Comparison("x", "bottleneck", comparison.seeds, records, comparison.measures)
    results.plot_cdf(found, "rtt", tmp_path)
    (page,) = drawn
    page.canvas.draw()
    (legend,) = page.legends
    assert [text.get_text() for text in legend.get_texts()] == list(records)
    for axes in page.axes:
        assert axes.get_window_extent().width > 0.35 * page.bbox.width
        assert axes.get_window_extent().height > 1.5 * page.dpi
        assert not axes.get_window_extent().overlaps(legend.get_window_extent())
    # Matplotlib 3.9 uses names that pyparsing has deprecated.
    assert not [each for each in recwarn if not issubclass(each.category, DeprecationWarning)]


def ends(axes, across):
    """The ends of the error bars on an axis (0: horizontal, 1: vertical)."""
    bars = [bar for container in axes.containers for bar in container.lines[2]]
    return [end[across] for bar in bars for segment in bar.get_segments() for end in segment]


def test_error_bars_end_with_the_range_of_the_measure():
    records = {
        case: [sj.Record({"scenario": "x", "total": {"jain": value}}) for value in values]
        for case, values in {"a": (1.0, 0.7), "b": (0.6, 1.0)}.items()
    }
    found = sj.Comparison("x", "up", [1, 2], records, [record_schema.measure("total", "jain")])
    drawn = ends(found.plot.means("Jain's index"), 0)
    assert len(drawn) == 4
    assert (min(drawn), max(drawn)) == (0.0, 1.0)
    table = found.table()
    assert table["low"].min() == 0
    assert table["high"].max() == 1
    assert table["difference_low"].min() == -1
    assert "0.85 (0.00 to 1.00)" in found._repr_html_()


@pytest.mark.parametrize("value", [0.0, 1e-9, 1.0])
def test_an_axis_of_equal_values_has_a_width_and_the_value_in_its_middle(value, recwarn):
    records = {case: [sj.Record({"scenario": "x", "total": {"jain": value}})] * 2 for case in "ab"}
    found = sj.Comparison("x", "up", [1, 2], records, [sj.Measure("equal", "total.jain")])
    low, high = found.plot.means("equal").get_xlim()
    assert low < value < high
    assert (low + high) / 2 == pytest.approx(value)
    assert not recwarn.list


def test_error_bars_of_a_sweep_end_with_the_range_of_the_measure(dumbbell):
    found = sj.sweep(dumbbell, {"flows.ftp.count": [2, 3]}, seeds=2)
    found.runs["total.jain"] = [1.0, 0.7, 0.6, 1.0]
    drawn = ends(found.plot.means("total.jain"), 1)
    assert (min(drawn), max(drawn)) == (0.0, 1.0)


def test_series_of_a_sweep_stand_at_their_numbers_and_the_legend_beside_them(dumbbell):
    axes = {"flows.ftp.count": [2, 3], "links.bottleneck.queue.limit": ["50 packets", "20 packets"]}
    found = sj.sweep(dumbbell, axes, seeds=2)
    drawn = found.plot.means("links.bottleneck.utilization")
    assert sorted(set(ends(drawn, 0))) == [20, 50]
    assert drawn.get_yscale() == "linear"
    drawn.figure.draw_without_rendering()
    legend = drawn.get_legend().get_window_extent()
    assert legend.x0 >= drawn.get_window_extent().x1
    found.runs["total.goodput_bps"] = [1e3, 1e3, 2e6, 3e6, 1e4, 1e4, 1e4, 1e4]
    drawn = found.plot.means("total.goodput_bps")  # one interval reaches to 0
    assert drawn.get_yscale() == "log"
    assert all(line.get_clip_on() for line in (*drawn.lines, *drawn.collections))


def test_series_over_names_stand_side_by_side_so_that_no_interval_hides_another(dumbbell):
    axes = {"links.bottleneck.queue.aqm": ["red", "codel"], "tcp.control": [{"cc": "reno"}, {"cc": "cubic"}]}
    drawn = sj.sweep(dumbbell, axes, seeds=2).plot.means("total.goodput_bps")
    assert sorted(set(ends(drawn, 0))) == pytest.approx([-0.04, 0.04, 0.96, 1.04])


def test_the_best_of_a_comparison_is_filled(comparison):
    axes = comparison.plot.means("queue mean")
    fills = [container.lines[0].get_markerfacecolor() for container in axes.containers]
    assert fills[0] == "white"
    assert fills[1] != "white"
    with pytest.raises(sj.UserError, match='got "queue men"'):
        comparison.plot.means("queue men")


def test_the_axes_of_a_sweep_are_labeled_by_the_definitions_of_the_record(dumbbell):
    found = sj.sweep(
        dumbbell, {"links.bottleneck.queue.limit": ["50 packets", "20 packets"], "tcp.control": [{"cc": "reno"}]}
    )
    axes = found.plot.means("links.bottleneck.utilization")
    assert axes.get_ylabel() == "utilization (%)"
    assert axes.get_xlabel() == "bottleneck queue limit (packets)"
    x, y = axes.containers[0].lines[0].get_data()
    assert list(x) == [20, 50]
    assert (y > 50).all()
    assert axes.get_legend().get_texts()[0].get_text() == "reno"


def test_a_panel_that_would_be_empty_is_not_drawn(record, tmp_path, monkeypatch):
    import sojourn.plots.results as results

    drawn = {}
    monkeypatch.setattr(
        results, "save_figure", lambda made, folder, name: drawn.setdefault(name, made) and [folder / name]
    )
    plot_record(record, tmp_path)
    assert sorted(drawn) == ["cdf-rtt", "cwnd", "queue", "rtt", "throughput"]
    assert [axes.get_ylabel() for axes in drawn["queue"].axes] == ["waiting packets", "queuing delay (ms)"]
    red = sj.run(sj.load(record_scenario()).set("links.bottleneck.queue.aqm", "red"))
    drawn.clear()
    plot_record(red, tmp_path)
    assert [axes.get_ylabel() for axes in drawn["queue"].axes][2:] == ["drop or mark probability (%)"]


def record_scenario():
    from tests.conftest import DUMBBELL

    return sj.loads(DUMBBELL).set("trace", {"queue": TRACE["queue"]})


def figures(folder):
    return {file.name for file in folder.iterdir() if file.suffix == ".png"}


def test_old_plots_of_a_folder_go_when_it_is_written_again(dumbbell, here):
    queue = 'trace={queue={links=["bottleneck"],every="100 ms"}}'
    window = 'trace={cwnd={flows=["ftp/0"],every="100 ms"}}'
    assert main(["run", str(dumbbell), "--out", "r", "--set", queue]) == 0
    assert main(["plot", "r"]) == 0
    (here / "r" / "mine.png").write_bytes(b"not ours")
    assert figures(here / "r") == {"queue.png", "mine.png"}
    assert sj.Record.read("r").series.keys() == {"queue/bottleneck"}
    assert main(["run", str(dumbbell), "--out", "r", "--set", window]) == 0
    assert figures(here / "r") == {"mine.png"}
    assert main(["plot", "r"]) == 0
    assert figures(here / "r") == {"cwnd.png", "mine.png"}
    assert sj.Record.read("r").series.keys() == {"cwnd/ftp/0"}


def test_a_comparison_is_one_page_and_single_measures_can_be_added(dumbbell, here):
    arguments = ["compare", str(dumbbell), "--cc", "reno,cubic", "--seeds", "2", "--out", "c", "--cdf", "rtt"]
    assert main(arguments) == 0
    assert figures(here / "c") == {"overview.png", "cdf-rtt.png"}
    assert main(["plot", "c"]) == 0
    assert main(["plot", "c", "--measure", "Jain's index"]) == 0
    assert figures(here / "c") == {"overview.png", "cdf-rtt.png", "Jain-s-index.png"}


def test_a_distribution_that_no_case_can_have_is_refused_before_the_first_run(capsys, dumbbell, here, monkeypatch):
    monkeypatch.setattr(runs, "run_compare", lambda *_, **__: pytest.fail("something was run"))
    arguments = ["compare", str(dumbbell), "--queues", "droptail", "--seeds", "1", "--out", "c", "--cdf", "completion"]
    assert main(arguments) == 2
    assert "--cdf: distribution of completion: expected flows whose connections end" in capsys.readouterr().err
    assert not (here / "c").exists()


def test_a_distribution_that_one_case_can_have_is_drawn(dumbbell, here):
    traffic = "flows.ftp.traffic={kind='bulk'},{kind='transfers',every='50 ms',size_mean='20 kB'}"
    assert main(["compare", str(dumbbell), "--vary", traffic, "--seeds", "1", "--out", "c", "--cdf", "completion"]) == 0
    assert figures(here / "c") == {"overview.png", "cdf-completion.png"}


def test_a_distribution_that_no_run_measured_loses_nothing_else(capsys, dumbbell, here):
    never = "flows.ftp.traffic={kind='bulk',size='100 GB'}"
    arguments = ["compare", str(dumbbell), "--queues", "droptail", "--seeds", "1", "--out", "c", "--cdf", "completion"]
    assert main([*arguments, "--set", never]) == 0
    assert "note: dumbbell: distribution of completion" in capsys.readouterr().err
    assert figures(here / "c") == {"overview.png"}
    assert (here / "c" / "summary.csv").exists()


def test_an_empty_unit_in_a_file_stays_empty(dumbbell, here, monkeypatch):
    assert main(["compare", str(dumbbell), "--queues", "droptail", "--seeds", "1", "--out", "c"]) == 0
    seen = []
    monkeypatch.setattr(summaries, "cases", lambda rows, axes: seen.append(set(rows["unit"])))
    assert main(["plot", "c"]) == 0
    assert {""} in seen
    assert all(isinstance(unit, str) for units in seen for unit in units)


def test_a_plot_of_a_record_draws_all_its_traces() -> None:
    scenario = sj.load(ROOT / "examples" / "dumbbell.toml").copy().set("duration", "12 s")
    record = sj.run(scenario)
    assert repr(record.plot) == '<plots of dumbbell, seed 1: cwnd, queue, delay, cdf("wait"), cdf("rtt")>'
    labels = ["congestion window (segments)", "waiting packets", "queuing delay (ms)"]
    assert [axes.get_ylabel() for axes in record.plot()] == labels
    bare = sj.run(scenario.set("trace", {}))
    with pytest.raises(sj.UserError, match="queue: expected a trace: add queue = "):
        bare.plot()
