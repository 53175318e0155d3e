"""The figures of a report, one class for each kind.

`sojourn.experiments.figures` draws them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Union

from pydantic import BeforeValidator, ConfigDict, Discriminator, Field, Strict, Tag

from sojourn.experiments.schema.figure import Figure
from sojourn.experiments.schema.law_figures import ControlSurface, Inference, Rules, Sets
from sojourn.experiments.schema.toml import FileModel, Span, TwoTexts

Points = Annotated[int, Field(ge=2)]
Ends = Annotated[tuple[float, float], BeforeValidator(lambda ends: tuple(ends) if isinstance(ends, list) else ends)]
"""A first and a last value."""


class Surface(Figure):
    """The probability of a queue's law over backlog and change, computed by its code."""

    kind: Literal["surface"]
    queue: str
    """The queue."""
    title: str = ""
    """Title (default: the queue's label)."""
    backlog: Span
    """Range of the backlog, in packets."""
    change: Span
    """Range of the change from one update to the next, in packets."""
    as_pixels: ClassVar[bool] = True


class ByScenario(Figure):
    """A panel for each measure, with every scenario and queue as measured.

    Published values are open marks.
    """

    kind: Literal["by-scenario"]
    measures: list[str]
    """The panels."""
    divide: dict[str, float] = {}
    """Scenarios whose values are divided by a number, so that a panel has one unit."""


class Parity(Figure):
    """Measured over published, a panel for each measure."""

    kind: Literal["parity"]
    measures: list[str] = []
    """The panels (default: the grid's measures)."""


class Lines(Figure):
    """A measure over a value of a family of scenarios.

    There is a panel for each group of scenarios, and a line for each queue.
    """

    kind: Literal["lines"]
    measure: str
    """The measure."""
    x: str
    """The value of the family on the x axis."""
    xlabel: str = ""
    """Label of the x axis."""
    panels: list[str] = []
    """Families, or beginnings of names: the scenarios `<panel>_...` are one panel.

    Default: all scenarios of the grid in one panel.
    """
    titles: list[str] = []
    """Titles of the panels (default: the ends of their names)."""
    published: dict[str, dict[str, float | Ends]] = {}
    """Published means, by panel and queue: a dashed line, or one from a first to a last value.

    `""` is no queue: its line is gray.
    """
    also: str = ""
    """Another grid whose queues are drawn too, if it was run."""


class Averages(Figure):
    """Averages over many scenarios: a panel for each measure, a mark for each queue."""

    kind: Literal["averages"]
    scenarios: str
    """A pattern of scenario names, such as `y2_*`."""
    measures: list[str]
    """The panels."""
    published: dict[str, dict[str, float]] = {}
    """Published averages, by measure and queue: an open mark."""


class Spread(Figure):
    """Mean and standard deviation of a measure over all runs of many scenarios.

    There is a mark for each queue.
    """

    kind: Literal["spread"]
    scenarios: str
    """A pattern of scenario names, such as `y2_*`."""
    measure: str
    """The measure."""
    published: dict[str, float] = {}
    """Published standard deviations by queue: an open mark."""


class Timeline(Figure):
    """A series in bins of one second, the mean over the seeds: a line for each queue."""

    kind: Literal["timeline"]
    scenario: str
    """The scenario."""
    series: TwoTexts
    """Trace and column."""
    scale: float = 1.0
    """Factor on the values."""
    ylabel: str = ""
    """Label of the y axis."""
    marks: list[float] = []
    """Times in seconds at which a dotted line stands."""
    queues: list[str] = []
    """The lines (default: all queues of the grid)."""
    top: float = 0.0
    """Above 0: the end of the y axis. The peaks above it are written as numbers."""
    log_above: float = 0.0
    """Above 0: the y axis is logarithmic from this value on."""


class Ellipses(Figure):
    """Two series against each other: means of queues with ellipses of one standard deviation.

    Both series are averaged over bins of one second after the warm-up, and all seeds are pooled.
    """

    kind: Literal["ellipses"]
    scenario: str
    """The scenario."""
    x: TwoTexts
    """Trace and column on the x axis."""
    y: TwoTexts
    """Trace and column on the y axis."""
    xscale: float = 1.0
    """Factor on the values on the x axis."""
    yscale: float = 1.0
    """Factor on the values on the y axis."""
    xlabel: str = ""
    """Label of the x axis."""
    ylabel: str = ""
    """Label of the y axis."""


class Series(Figure):
    """A series of several cases against time, from the first seed: a panel for each case."""

    kind: Literal["series"]
    cases: list[str]
    """The cases, `scenario.queue` or `scenario.queue.setting`."""
    series: str
    """The trace."""
    column: str
    """Its column."""
    scale: float = 1.0
    """Factor on the values."""
    offset: float = 0.0
    """The term that is added after the factor."""
    ylabel: str = ""
    """Label of the y axes (default: the column)."""
    begin: float = 0.0
    """The time in seconds at which the panels begin, such as the end of the warm-up."""


class Traces(Figure):
    """Queue and RTT against time, from the first seed: a line for each queue."""

    kind: Literal["traces"]
    scenario: str
    """The scenario."""
    queues: list[str]
    """The queues."""
    setting: str = ""
    """The setting."""
    as_pixels: ClassVar[bool] = True


class Rates(Figure):
    """Rates of flows or groups against time, from the first seed of a case."""

    kind: Literal["rates"]
    case: str
    """`scenario.queue` or `scenario.queue.setting`."""
    groups: list[TwoTexts]
    """Flow or group, and its label."""


class Windows(Figure):
    """Windows of flows, and below them the queue of a link, from the first seed of a case."""

    kind: Literal["windows"]
    case: str
    """`scenario.queue` or `scenario.queue.setting`."""
    flows: list[TwoTexts]
    """Flow, and its label."""
    link: str
    """The link whose queue is drawn."""
    line: float
    """A dashed line in the panel of the queue, in packets."""
    line_label: str
    """Label of the line."""


class Shares(Figure):
    """Stacked bars of a share.

    Settings are next to each other, scenarios are grouped by the first part of their labels.
    """

    kind: Literal["shares"]
    measure: str
    """The measure: a share from 0 to 1."""
    queue: str
    """The queue."""
    settings: list[str]
    """The settings."""
    line: float
    """A horizontal line."""
    xlabel: str
    """Label of the x axis."""
    ylabel: str
    """Label of the y axis."""


class Axis(FileModel):
    """An axis of parallel coordinates."""

    label: str
    """Label."""
    measure: str
    """The measure."""
    divide: float = 1.0
    """The value is divided by this, so that it lies between 0 and 1."""
    ideal: Span
    """The range that is shaded as ideal."""


class Parallel(Figure):
    """Parallel coordinates: a line for each queue and setting of the grid."""

    kind: Literal["parallel"]
    scenario: str
    """The scenario."""
    axes: list[Axis]
    """The axes, from left to right."""


class TradeOffPlot(Figure):
    """The two measures of the paper's `trade_off`.

    There is a panel for each scenario, and a line for each curve.
    """

    kind: Literal["trade-off"]
    scenarios: list[str]
    """The panels."""
    curves: list[str]
    """The lines."""


class Boxes(Figure):
    """Boxes of a measure's values over all seeds, in groups of queues."""

    kind: Literal["boxes"]
    scenario: str
    """The scenario."""
    measure: str
    """A measure of a series."""
    groups: dict[str, list[str]]
    """Queues by the label of their group."""
    setting: str = ""
    """The setting."""
    labels: list[str]
    """Labels of the boxes in a group."""
    xlabel: str
    """Label of the x axis."""
    ylabel: str
    """Label of the y axis."""


class Map(Figure):
    """Measures over a grid of queues, in the order of the grid: row by row."""

    kind: Literal["map"]
    scenario: str
    """The scenario."""
    measures: list[str]
    """The panels."""
    rows: list[str]
    """Labels of the rows."""
    columns: list[str]
    """Labels of the columns."""
    xlabel: str
    """The quantity of the columns."""
    ylabel: str
    """The quantity of the rows."""
    fluid: str = ""
    """The fluid of a second row of panels.

    They show its equilibrium under each queue's law, and its delay margin.
    """


class Heat(Figure):
    """A measure over two values of a family, as numbers in a map.

    There is a panel for each queue, setting and other value.
    """

    kind: Literal["heat"]
    measure: str
    """The measure: the median over the seeds is shown."""
    x: str
    """The value of the family for the columns."""
    y: str
    """The value of the family for the rows."""
    xlabel: str = ""
    """Label of the columns (default: `x`)."""
    ylabel: str = ""
    """Label of the rows (default: `y`)."""
    log: bool = False
    """Whether the colors are logarithmic."""
    good: Span | None = None
    """Values in this range are bold."""


class Panel(FileModel):
    """A panel of expressions."""

    y: str
    """An expression, as in claims; `{x}` is the number on the x axis."""
    x: Span
    """The range of the x axis."""
    points: Points = 100
    """The number of computed points."""
    log: bool = False
    """Whether both axes are logarithmic."""
    marks: bool = False
    """Marks instead of a line."""
    xlabel: str
    """Label of the x axis."""
    ylabel: str = ""
    """Label of the y axis."""


class Expressions(Figure):
    """Expressions over a range of numbers, a panel for each: theory, without any run."""

    kind: Literal["expressions"]
    panels: list[Panel]
    """The panels."""


class Step(Figure):
    """Responses of designs to a step of the set point, without and with the dead time."""

    kind: Literal["step"]
    designs: list[str]
    """The designs."""
    until: float
    """The end of the time axis, in seconds."""


class Bode(Figure):
    """Gain and phase of the open loops of designs; poles and zeros of the closed loops."""

    kind: Literal["bode"]
    designs: list[str]
    """The designs."""
    frequencies: Span
    """Range of the frequency, in rad/s."""
    gain: Span
    """Range of the gain, in dB."""
    phase: Span
    """Range of the phase, in degrees."""


class FluidOverPackets(Figure):
    """Queue and probability of a fluid run over those of a case (first seed)."""

    kind: Literal["fluid"]
    fluid: str
    """The fluid run."""
    scenario: str
    """The scenario."""
    queue: str
    """The queue."""
    setting: str = ""
    """The setting."""


Place = Annotated[tuple[float, float], Strict(False)]
"""A place in a diagram: across and up. A box is 1.6 wide and 0.68 high."""


class Block(FileModel):
    """A box of a diagram."""

    text: str
    """What it says."""
    at: Place
    """Its middle."""
    differs: bool = False
    """Whether it is shown in another color."""


class Arrow(FileModel):
    """An arrow of a diagram."""

    start: str = Field(alias="from")
    """The first box."""
    end: str = Field(alias="to")
    """The last box."""
    label: str = ""
    """The text next to it."""
    via: list[Place] = []
    """Points on its path."""


class Blocks(Figure):
    """A block diagram."""

    kind: Literal["blocks"]
    boxes: dict[str, Block]
    """Boxes by name."""
    arrows: list[Arrow]
    """The arrows between them."""


class Network(Figure):
    """The network of a scenario: routers, the links between them, and the flows."""

    kind: Literal["network"]
    scenario: str
    """The scenario."""


class ExtraFigure(Figure):
    """A kind that the experiment's `extra.py` draws. All other fields are its own."""

    model_config = ConfigDict(extra="allow")


KINDS: dict[str, type[Figure]] = {
    "surface": Surface,
    "by-scenario": ByScenario,
    "parity": Parity,
    "lines": Lines,
    "averages": Averages,
    "spread": Spread,
    "timeline": Timeline,
    "series": Series,
    "traces": Traces,
    "rates": Rates,
    "windows": Windows,
    "ellipses": Ellipses,
    "heat": Heat,
    "shares": Shares,
    "parallel": Parallel,
    "trade-off": TradeOffPlot,
    "boxes": Boxes,
    "map": Map,
    "expressions": Expressions,
    "step": Step,
    "bode": Bode,
    "fluid": FluidOverPackets,
    "sets": Sets,
    "rules": Rules,
    "control-surface": ControlSurface,
    "inference": Inference,
    "blocks": Blocks,
    "network": Network,
}
"""The kinds that any paper can use."""


def _tag(figure: Any) -> str:
    """The class of a figure."""
    kind = figure.get("kind") if isinstance(figure, dict) else getattr(figure, "kind", None)
    return kind if isinstance(kind, str) and kind in KINDS else "extra"


if TYPE_CHECKING:
    FigureSpec = Figure
else:
    _MODELS = [Annotated[model, Tag(kind)] for kind, model in KINDS.items()]
    FigureSpec = Annotated[Union[(*_MODELS, Annotated[ExtraFigure, Tag("extra")])], Discriminator(_tag)]
