"""Curves: their ends, and how they are distinguished."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import sojourn as sj
from sojourn.plots import distributions
from sojourn.plots.style import LEGEND_COLUMNS, PAGE, RC, style_of, title_above_legend
from tests.conftest import DUMBBELL

LAST = 5.0  # seconds: the duration of the dumbbell


def run(trace: dict[str, object], **changes: object) -> sj.Record:
    return sj.run(sj.loads(DUMBBELL).set("trace", trace).set_all(changes), seed=1)


@pytest.mark.parametrize("count", [2, 7, 9000])
def test_the_share_above_goes_on_to_the_largest_sample(count):
    axes, samples = Figure().add_subplot(), np.linspace(1.0, 2.0, count)
    distributions.draw(axes, distributions.of_samples(samples), style_of(0), "x", True)
    x, y = axes.lines[0].get_data()
    assert x[-1] == 2.0
    assert y[-1] == pytest.approx(1 / count)
    assert x[-2] < x[-1]
    assert y[-2] == y[-1], "between the last two samples one of them lies above"


def test_counts_begin_at_zero_and_go_on_to_the_end():
    record = run({"signals": {"links": ["bottleneck"]}}, **{"links.bottleneck.queue.limit": "20 packets"})
    times = record.series["signals/bottleneck"]["t"]
    assert times[-1] < LAST
    x, y = record.plot.drops().lines[0].get_data()
    assert (x[0], y[0]) == (0.0, 0.0)
    assert (x[-1], y[-1]) == (LAST, len(times))
    assert y[-2] == len(times)


def test_links_and_flows_of_one_color_have_other_dashes():
    trace = {"throughput": {"links": ["*"], "flows": ["*"], "every": "1 s"}}
    record = run(trace, **{"flows.ftp.count": 15})
    looks = {(line.get_color(), line.get_linestyle()) for line in record.plot.throughput().lines}
    assert len(looks) == len(record.plot.throughput().lines) == 8
    assert len({color for color, _ in looks}) < 8, "15 flows and a link have more colors than there are"


@pytest.mark.parametrize(("names", "above"), [(["a", "b"], False), (["group, link:back"] * 9, True)])
def test_a_title_stands_beside_a_short_legend_and_above_a_long_one(names, above):
    import matplotlib as mpl

    with mpl.rc_context(RC):
        made = Figure(figsize=(PAGE, 2.4), layout="constrained")
        axes = made.add_subplot()
        for name in names:
            axes.plot([0, 1], [0, 1], label=name)
        axes.set_title("a scenario, seed 1", loc="left")
        legend = axes.legend(ncols=LEGEND_COLUMNS, loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0.2)
        title_above_legend(axes)
        made.draw_without_rendering()
        title = axes._left_title.get_window_extent()
    assert not title.overlaps(legend.get_window_extent())
    assert bool(title.y0 >= legend.get_window_extent().y1) is above


def test_a_group_of_which_some_flows_were_traced_is_drawn_from_its_quantiles():
    second = DUMBBELL[DUMBBELL.index("[[flows]]") :].replace('name = "ftp"', 'name = "other"')
    scenario = sj.loads(DUMBBELL + second).set("trace", {"rtt": {"flows": ["ftp/*", "other/0"]}})
    lines = {line.get_label(): line for line in sj.run(scenario, seed=1).plot.cdf("rtt").lines}
    assert lines["ftp"].get_linestyle() == "-"
    assert lines["other"].get_linestyle() == "--"
