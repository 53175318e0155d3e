"""The style of all plots: column widths, colors for color-blind readers, units on axes."""

from __future__ import annotations

import io
import math
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import matplotlib as mpl
import matplotlib.style
from cycler import cycler
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axes._secondary_axes import SecondaryAxis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import LogFormatter

from sojourn.core.errors import LONGEST_VALUE, RunError, ScenarioError, UserError, note, shortened
from sojourn.core.files import write_atomic

# The palette of Okabe and Ito, strongest contrasts first, then wine and gray. Markers differ too, for print in gray.
COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8F7700", "#882255", "#888888"]
MARKERS = ["o", "s", "D", "^", "v", "P", "X", "*", "<", "h"]
LINES = ["-", "-.", ":"]
COLUMN = 3.5  # inches: one of two columns of a page
PAGE = 7.16  # inches: full width of a page
FAR_APART = 100  # ratio of values above which a linear axis would hide the smaller one
Drawn = TypeVar("Drawn")
GOOD, FAIR, BAD = "#009E73", "#E69F00", "#D55E00"

RC: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 8,
    "axes.labelsize": 8,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "legend.frameon": False,
    "legend.fontsize": 7.5,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "lines.linewidth": 1.2,
    "lines.markersize": 4.5,
    "errorbar.capsize": 2,
    "savefig.dpi": 300,
    "pdf.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "sojourn",
    "axes.prop_cycle": cycler(color=COLORS),
}


@dataclass(frozen=True)
class OwnStyle:
    """A user's matplotlib style, and the width of figures in inches."""

    rc: Mapping[str, Any] = field(default_factory=dict)
    width: float | None = None

    @property
    def colors(self) -> list[str]:
        """The colors of the style's cycle, or those of this module."""
        cycle = self.rc.get("axes.prop_cycle")
        return list(cycle.by_key().get("color", COLORS)) if cycle is not None else COLORS


_own: ContextVar[OwnStyle] = ContextVar("own_style")


def own_style() -> OwnStyle:
    """The style that `styled` has set."""
    return _own.get(OwnStyle())


@contextmanager
def styled(style: str | None, width: float | None = None) -> Iterator[None]:
    """Draws the figures of the block in a matplotlib style, `width` inches wide.

    `style` is the name of a style or a `.mplstyle` file; several are separated by commas. The style's `figure.figsize`
    is the default of `width`. Raises `UserError` for an unknown style.
    """
    rc: dict[str, Any] = {}
    for each in style.split(",") if style else []:
        try:
            with mpl.rc_context():
                before = dict(mpl.rcParams)
                matplotlib.style.use(each.strip())
                rc |= {key: value for key, value in dict(mpl.rcParams).items() if value != before[key]}
        except OSError:
            raise UserError.expected("--style", "a .mplstyle file or the name of a matplotlib style", each) from None
    if rc.pop("text.usetex", False):
        note("text.usetex of the style is ignored, because names of a scenario are not LaTeX")
    size = rc.pop("figure.figsize", None)
    token = _own.set(OwnStyle(rc, width or (float(size[0]) if size else None)))
    try:
        yield
    finally:
        _own.reset(token)


def rc_context() -> AbstractContextManager[None]:
    """The settings of all figures: this module's, then those of `styled`."""
    return mpl.rc_context(RC | dict(own_style().rc))


@dataclass(frozen=True)
class Look:
    """Color, marker and line of one series."""

    color: str
    marker: str
    line: str


def style_of(index: int) -> Look:
    """The look of the series at a position, from 0. After ten, colors repeat with other markers."""
    colors = own_style().colors
    again, color = divmod(index, len(colors))
    return Look(colors[color], MARKERS[(color + again) % len(MARKERS)], LINES[again % len(LINES)])


class PlotError(RunError):
    """A plot that could not be drawn. The message is one line."""


@contextmanager
def drawing(what: str = "plot") -> Iterator[None]:
    """Converts any exception of matplotlib in the block into a `PlotError` about `what`."""
    try:
        yield
    except (UserError, ScenarioError, RunError, OSError, MemoryError):
        raise
    except Exception as error:
        said = " ".join(str(error).split())
        raise PlotError(f"{what}: cannot be drawn: {type(error).__name__}: {shortened(said, LONGEST_VALUE)}") from error


def drawn_or_noted(what: str, draw: Callable[[], list[Drawn]]) -> list[Drawn]:
    """The files of a plot function. If it fails: a note and no file, so that no result is lost."""
    try:
        with drawing(what):
            return draw()
    except PlotError as error:
        note(str(error))
        return []


def literal(made: Artist) -> None:
    """Disables math text in a figure or axes, because names from a scenario may contain `$`.

    Labels of logarithmic axes keep it.
    """
    axes: Any = made.findobj(lambda each: isinstance(each, (Axes, SecondaryAxis)))
    numbered = [axis for each in axes for axis in (each.xaxis, each.yaxis)]
    logarithmic = [axis for axis in numbered if isinstance(axis.get_major_formatter(), LogFormatter)]
    formulas = {text for axis in logarithmic for text in axis.findobj(Text)} - {axis.label for axis in logarithmic}
    for text in made.findobj(Text):
        text.set_parse_math(text in formulas)


@contextmanager
def figure(width: float = COLUMN, height: float = 2.5) -> Iterator[Figure]:
    """A figure in this style, `width` and `height` in inches, laid out without cut-off parts.

    `styled` may set another width. Raises `PlotError` if matplotlib fails in the block.
    """
    with rc_context(), drawing():
        made = Figure(figsize=(own_style().width or width, height), layout="constrained")
        FigureCanvasAgg(made)
        yield made
        literal(made)


@contextmanager
def drawn_on(ax: Axes | None, width: float = PAGE, height: float = 2.4) -> Iterator[Axes]:
    """Axes in this style: the given ones, or those of a new figure.

    `width` and `height` of the figure are in inches. If pyplot is loaded, as in a notebook, it shows the new figure.
    """
    with rc_context():
        axes = shown_figure(width, height).add_subplot() if ax is None else ax
        yield axes
        literal(axes)


def shown_figure(width: float, height: float) -> Figure:
    """A new figure of `width` and `height` in inches. pyplot shows it if it is loaded."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    return (pyplot.figure if pyplot else Figure)(figsize=(own_style().width or width, height), layout="constrained")


WIDEST = 26  # characters per line of a label
LINE = 0.13  # inches: height of a line


def wrapped(label: str) -> str:
    """Wraps a case label after commas and at spaces, to leave room for the plot."""
    if len(label) <= WIDEST:
        return label
    return "\n".join(textwrap.wrap(re.sub(r",\s*", ", ", label), WIDEST))


def lines_of(labels: Iterable[str]) -> int:
    """The maximum number of lines of these labels when wrapped."""
    return max(1 + wrapped(label).count("\n") for label in labels)


NARROW = 4.0  # inches: a figure with no room for a legend to the right of its axes
FITS = 6  # lines of a legend that fits into the axes


def legend_beside(axes: Axes, title: str | None = None) -> None:
    """Adds a small legend: inside the axes if it fits, else outside.

    It fits if it is short and hides no error bars. Outside is to their right, or below a narrow figure.
    """
    handles, labels = axes.get_legend_handles_labels()
    inside = fits_inside(labels) and not axes.containers
    made = axes.get_figure()
    if not inside and isinstance(made, Figure) and made.get_figwidth() < NARROW and len(made.axes) == 1:
        lines = [each.lines[0] if isinstance(each, ErrorbarContainer) else each for each in handles]
        columns = _columns(made, labels)
        made.set_figheight(made.get_figheight() + LINE * (math.ceil(len(labels) / columns) + bool(title)))
        sizes: dict[str, Any] = {"title_fontsize": 6.5, "fontsize": 6.5}
        made.legend(lines, labels, ncols=columns, title=title, loc="outside lower center", **sizes)
        return
    beside: dict[str, Any] = {} if inside else {"loc": "upper left", "bbox_to_anchor": (1, 1)}
    lines = [each.lines[0] if isinstance(each, ErrorbarContainer) else each for each in handles]
    axes.legend(lines, list(map(wrapped, labels)), fontsize=6.5, title=title, title_fontsize=6.5, **beside)


def fits_inside(labels: Sequence[str]) -> bool:
    """Whether a legend of these labels fits into axes."""
    return sum(1 + wrapped(label).count("\n") for label in labels) <= FITS


LEGEND_COLUMNS = 5  # for a legend above axes, to the right of their title


def title_above_legend(axes: Axes) -> None:
    """Moves the title of axes above their legend if both do not fit side by side."""
    legend, title, made = axes.get_legend(), axes.get_title(loc="left"), axes.get_figure()
    if legend is None or made is None or not title:
        return
    labels = [each.get_text() for each in legend.get_texts()]
    rows = math.ceil(len(labels) / LEGEND_COLUMNS)
    columns = [labels[at : at + rows] for at in range(0, len(labels), rows)]
    letters = sum(6 + max(map(len, column)) for column in columns)  # 6 for a handle and its space
    named = bool(legend.get_title().get_text())
    if letters / 14.5 + len(title) / 14 > made.bbox.width / made.dpi - 0.7:  # letters per inch, and the scale
        axes.set_title(title, loc="left", pad=8 + 11 * (rows + named))


def legend_below(made: Figure) -> None:
    """Adds one legend below all panels and enlarges the figure.

    The legend has the series of the first panel.
    """
    handles, labels = made.axes[0].get_legend_handles_labels()
    columns = _columns(made, labels)
    made.set_figheight(made.get_figheight() + LINE * math.ceil(len(labels) / columns))
    made.legend(handles, labels, ncols=columns, loc="outside lower center", fontsize=6.5)


def _columns(made: Figure, labels: Sequence[str]) -> int:
    """The number of legend columns that fit across a figure."""
    fit = 20 * made.get_figwidth() / (9 + max(map(len, labels), default=0))  # 20 letters per inch, 9 for a handle
    return max(1, min(len(labels), int(fit)))


def legend_above(made: Figure) -> None:
    """Adds one legend above all panels, in as many columns as fit.

    The legend has the series of the first panel.
    """
    handles, labels = made.axes[0].get_legend_handles_labels()
    made.legend(handles, labels, ncols=_columns(made, labels), loc="outside upper center", fontsize=7)


PNG_DPI = 200


def settled(made: Figure) -> Figure:
    """Computes the layout of a figure once, not once per file; returns the figure."""
    literal(made)
    made.set_dpi(PNG_DPI)
    with rc_context():
        made.draw_without_rendering()
    made.set_layout_engine("none")
    return made


# The metadata field for the description, by file format.
ABOUT = {"png": "Description", "svg": "Description", "pdf": "Subject"}


def render(made: Figure, kind: str, about: str = "") -> bytes:
    """Renders a figure as "png", "pdf" or "svg" with a description in its metadata.

    The bytes are reproducible.
    """
    buffer = io.BytesIO()
    metadata: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
    metadata |= {ABOUT[kind]: about} if about else {}
    literal(made)
    with rc_context():
        made.savefig(buffer, format=kind, metadata=metadata, dpi=PNG_DPI if kind == "png" else "figure")
    return buffer.getvalue()


def save_figure(made: Figure, folder: Path, name: str, about: str = "") -> list[Path]:
    """Writes a figure as PNG and PDF with a description in their metadata; returns the files.

    Raises `PlotError` if matplotlib fails.
    """
    with drawing(name):
        made = settled(made)
        contents = {f"{name}.{kind}": render(made, kind, about) for kind in ("png", "pdf")}
    return [write_atomic(folder / name, content) for name, content in contents.items()]
