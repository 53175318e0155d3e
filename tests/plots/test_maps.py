"""Maps of sweeps, and figures in the style of a paper."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from sojourn.cli import main
from sojourn.core.errors import UserError
from sojourn.core.files import together
from sojourn.core.record_files import frames_to_csv
from sojourn.plots.maps import CONTOUR, HEAT, draw_map
from sojourn.plots.style import figure, settled, style_of, styled
from sojourn.plots.summaries import means

WAIT = "links.a.wait_ms.mean"
BY = {"links.*.queue.limit": "packets", "links.a.rate": "bit/s"}
LIMITS, RATES = [20.0, 50.0, 200.0], [5e6, 1e7, 2e7]


def summary(rates: list[float] | list[str] = RATES) -> pd.DataFrame:
    """The time that a full queue takes: limit x 12 kbit / rate, in ms."""
    points = [(limit, rate, 12e6 * limit / size) for limit in LIMITS for rate, size in zip(rates, RATES, strict=True)]
    rows = pd.DataFrame(points, columns=[*BY, "mean"])
    return rows.assign(measure=WAIT, low=rows["mean"], high=rows["mean"], n=1)


def inside(made: Figure) -> bool:
    """Whether everything that a figure shows is within it."""
    settled(made)
    shown = made.get_tightbbox()
    return bool(
        shown.x0 >= 0 and shown.y0 >= 0 and shown.x1 <= made.get_figwidth() and shown.y1 <= made.get_figheight()
    )


def test_a_heat_map_has_the_mean_of_each_point_in_its_cell():
    made = draw_map(summary(), BY, WAIT, HEAT)
    axes = made.axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("a rate (Mbit/s)", "queue limit (packets)")
    assert [text.get_text() for text in axes.get_xticklabels()] == ["5", "10", "20"]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["20", "50", "200"]
    cells = {text.get_position(): float(text.get_text()) for text in axes.texts}
    assert cells[0, 0] == 48.0  # 20 packets of 12 kbit at 5 Mbit/s
    assert cells[2, 2] == 120.0  # 200 packets at 20 Mbit/s
    turned = draw_map(summary(), BY, WAIT, HEAT, list(BY)).axes[0]
    assert turned.get_xlabel() == "queue limit (packets)"


def test_contours_run_where_the_measure_is_equal():
    made = draw_map(summary(), BY, WAIT, CONTOUR)
    axes = made.axes[0]
    lines = axes.collections[-1]
    drawn = [np.concatenate([path.vertices for path in lines.get_paths()])]
    assert axes.get_yscale() == "log"
    assert all(5 <= x <= 20 and 20 <= y <= 200 for part in drawn for x, y in part)
    # At 10 Mbit/s the wait is 1.2 ms per packet: a line crosses that column at its level.
    for level, path in zip(lines.levels, lines.get_paths(), strict=True):
        at = [y for x, y in path.vertices if abs(x - 10) < 1e-9]
        assert all(1.2 * y == pytest.approx(level) for y in at)
    assert "wait mean (ms)" in [each.get_ylabel() for each in made.axes]


def test_values_far_apart_have_a_logarithmic_scale_with_lines_at_1_2_and_5():
    rows = summary().assign(mean=[10.0**i for i in range(-4, 5)])
    made = draw_map(rows, BY, WAIT, CONTOUR)
    lines = made.axes[0].collections[-1]
    assert {0.001, 0.002, 0.005, 1.0, 200.0} <= {float(f"{level:.6g}") for level in lines.levels}
    bar = made.axes[-1]
    assert bar.get_yscale() == "log"
    assert bar.get_ylim() == pytest.approx((1e-4, 1e4))


def test_contours_need_three_numbers_on_each_axis():
    with pytest.raises(UserError, match=r"contour: links\.a\.rate: expected three numbers or more, got"):
        draw_map(summary(["red", "pd", "pi"]), BY | {"links.a.rate": None}, WAIT, CONTOUR)
    with pytest.raises(UserError, match="heat: expected a sweep over two axes or more"):
        draw_map(summary(), {"links.a.rate": "bit/s"}, WAIT, HEAT)


def test_no_label_is_cut_at_the_width_of_a_column():
    with styled("ggplot", 3.4):
        for kind in (HEAT, CONTOUR):
            made = draw_map(summary(), BY, WAIT, kind)
            assert made.get_figwidth() == 3.4
            assert inside(made), kind
        with figure() as made:
            means(summary(), BY, WAIT, made.add_subplot())
        assert made.get_figwidth() == 3.4
        assert inside(made)


def test_figures_have_the_fonts_colors_and_width_of_a_style(tmp_path: Path):
    style = tmp_path / "mine.mplstyle"
    style.write_text("font.size: 6\naxes.prop_cycle: cycler('color', ['k', 'r'])\nfigure.figsize: 3.3, 2\n")
    before = style_of(0)
    with styled(str(style)), figure() as made:
        assert [style_of(i).color for i in range(3)] == ["k", "r", "k"]
        assert made.get_figwidth() == 3.3
        assert made.text(0, 0, "x").get_fontsize() == 6
    assert style_of(0) == before
    with pytest.raises(UserError, match=r"--style: expected a \.mplstyle file or the name of a matplotlib style"):
        styled("nope").__enter__()


def test_plot_refuses_what_a_result_does_not_have(here: Path, capsys):
    rows = summary().rename(columns={name: f"{name} ({unit})" for name, unit in BY.items()})
    with together(here / "found"):
        frames_to_csv([rows], here / "found" / "summary.csv")

    def said(*more: str) -> str:
        assert main(["plot", "found", *more]) == 2
        return capsys.readouterr().err

    assert "--kind: expected one of means, heat, contour" in said("--kind", "overview")
    assert "--x, --y: expected both axes or none, got one" in said("--kind", "heat", "--x", "links.a.rate")
    assert "--x: expected --kind heat or contour, got means" in said(
        "--x", "links.a.rate", "--y", "links.*.queue.limit"
    )
    assert main(["plot", "found", "--kind", "contour", "--width", "3.4"]) == 0
    assert main(["list", "plots"]) == 0
    assert "contour" in capsys.readouterr().out
