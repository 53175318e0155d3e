"""`experiment.toml`: the citation, the runs, the measures and the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from sojourn.core.field_labels import with_unit
from sojourn.experiments.schema.figures import FigureSpec
from sojourn.experiments.schema.toml import (
    FileModel,
    FileName,
    FolderName,
    Keyed,
    NamedTable,
    OneOrMore,
    PlainName,
    Span,
    Texts,
    Times,
    Value,
    Words,
    expected,
)
from sojourn.experiments.schema.variables import Parameters, Variable


class Column(NamedTable):
    """A column computed from those of a trace, for measures that name it."""

    series: str
    """Traces by name or pattern, such as `controller/f/0`."""
    column: str
    """An expression over the columns of the trace, such as `in_flight - cwnd`."""
    optional: bool = False
    """Whether traces may lack columns of it; they then have no value there."""


class Measure(NamedTable):
    """A number of a run under a short name.

    It comes from `path`, `share_of`, `series`, `formula` or `outside`. Braces in `column`, `than`, `at`, `between`
    and `holds` contain expressions of values of the scenario's family and the queue; all but `holds` may also name
    measures of the same run above this one.
    """

    path: str = ""
    """A path into the record, such as `links.bottleneck.queue.mean`.

    Several paths joined by ` + ` are added.
    """
    share_of: Texts = ()
    """Paths into the record: the first one's share of their sum."""
    formula: str = ""
    """An expression over other measures of the same run, such as `goodput_one / goodput_two`.

    `none.goodput` is the measure of another queue with the same scenario, setting and seed, and `base.none.goodput`
    that of another case. `{x}` is a value of the scenario's family. Formulas that it names stand above it.
    """
    outside: Texts = ()
    """Measures with `holds`: the number of those that have a value outside their target."""
    holds: str = ""
    """The target of the value, such as `<= {rate / 2}`: tables mark whether it is met."""
    series: str = ""
    """Traces by name or pattern, such as `throughput/client/*`; their values are pooled."""
    column: str = ""
    """`series`: a column of the trace, or an expression over its columns.

    Without `series` it is one of `columns`.
    """
    optional: bool = False
    """`series`: whether the trace may lack columns. Samples without a value do not count."""
    take: str = ""
    """`series`: the number computed from the values, such as `mean` or `median`.

    `at` is the value at the time `at`. `begin`, `end` and `next` concern the `nth` stay at the value `than` that
    begins in time: its begin, its end, and the value after it. They are infinite if that never happens.
    """
    at: float | str = 0.0
    """`take = "at"`: the time in seconds, such as `"{drain + 0.1}"`."""
    ahead: int = Field(default=1, ge=1)
    """`take = "next"`: the number of the value after the stay, from 1."""
    between: Times | None = None
    """`series`: begin and end of the counted time, in seconds.

    Default: all after the warm-up.
    """
    after: str = ""
    """`series`: a measure that is a time in seconds, from which `between` counts."""
    bin: float = 0.0
    """`series`: above 0, the width in seconds of bins over which samples are first averaged."""
    than: float | str = 0.0
    """`series`: the level or share for the comparison in `take`.

    Examples are `0.9` and `"{0.25 * rate}"`.
    """
    event: Span | None = None
    """`take = "yields"` and `"recovers"`: begin and end of the event, in seconds."""
    nth: int = 1
    """`series`: the number of the event for `take`, from 1."""
    span: float = 1.0
    """`series`: the length of the averages of `take`, in seconds."""
    share: float = 0.0
    """`take = "quantile"`: the share of the values below it.

    With `take = "settle"` a value is near the end if it is within this share of it; a difference within `than` is
    near, too.
    """
    last: int = 1
    """`take = "settle"`: the number of last values whose mean is the end."""
    within: Span | None = None
    """The possible values, if they do not follow from the record.

    The interval of the measure ends there.
    """
    better: Literal["less", "more"] | None = None
    """Whether smaller or larger values are better, for the comparison of queues."""
    least: float = 0.0
    """`better`: the smallest difference that counts."""
    never: float | None = None
    """`better`: the value of a comparison for a measure without a value.

    An example is the longest time waited for.
    """
    unit: str = ""
    """The unit that is printed."""
    scale: float = 1.0
    """The factor from the number in the record to `unit`."""
    decimals: int = 1
    """Decimal places that are printed."""

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        given = [key for key in ("path", "series", "share_of", "formula", "outside") if getattr(self, key)]
        if len(given) != 1 and not (self.column and not given):
            raise expected("one of path, series, share_of, formula and outside", " and ".join(given) or "none")
        if (self.series or self.column) and not (self.column and self.take):
            raise expected("column and take beside series", "one of them or none")
        if self.after and self.between is None:
            raise expected("between beside after", "none")
        return self

    def of_column(self, column: Column) -> Measure:
        """The measure with the traces and the expression of a named column."""
        changes = {"series": column.series, "column": column.column, "optional": self.optional or column.optional}
        return self.model_copy(update=changes)

    @property
    def title(self) -> str:
        """Its name on an axis or above a column: its label with its unit."""
        return with_unit(self.label, self.unit)


class Step(FileModel):
    """A change of a scenario that depends on its run so far."""

    set: Parameters = Field(min_length=1)
    """Fields of the scenario file; braces name measures of the run.

    An example is `{round(1e6 * drain)} us`.
    """


class ScenarioTable(NamedTable):
    """A scenario of the experiment: a file, and its changes."""

    title: str
    """The scenario in one phrase."""
    file: FileName
    """The scenario file, relative to the folder."""
    queue: Parameters = {}
    """Parameters that replace those of every queue in this scenario."""
    queue_at: OneOrMore = ()
    """The place of the queue in the scenario (default: the paper's `queue_at`)."""
    measures: Annotated[dict[str, Measure], Words, Keyed] = {}
    """Measures with other definitions in this scenario."""
    set: Parameters = {}
    """Changed fields of the scenario file.

    One inside `queue_at` changes the queue there.
    """
    steps: list[Step] = []
    """Changes after a run of the scenario as it was before.

    Each is followed by another run; the last one counts.
    """


class Congestion(FileModel):
    """A level of congestion, which determines the buffer and the numbers of flows.

    They follow from the path (rfc7928#8.2).
    """

    rate: str
    """The rate of the path in bit/s; `{x}` is a value of the family."""
    rtt: str
    """The round-trip time in seconds."""
    packet: str
    """The packet size in bytes."""
    counts: dict[str, str]
    """The number of flows of each group: an expression over `light`, `medium` and `heavy`."""


class Family(FileModel):
    """Scenarios of one file over every combination of values.

    The last value varies fastest.
    """

    id: str
    """Names of the scenarios; here and below `{x}` is a value of `over.x`."""
    label: str = ""
    """Their labels (default: their names)."""
    title: str = ""
    """Their titles (default: their labels)."""
    axis: str = ""
    """Label of an axis with these scenarios (default: the value in which they differ)."""
    file: FileName
    """The scenario file, relative to the folder."""
    over: dict[str, list[Value]] = {}
    """The values: texts or numbers."""
    points: dict[str, list[Value]] = {}
    """Values that vary together: lists of equal length."""
    queue: Parameters = {}
    """Parameters that replace those of every queue."""
    queue_at: OneOrMore = ()
    """The place of the queue in the scenarios (default: the paper's `queue_at`)."""
    measures: Annotated[dict[str, Measure], Words, Keyed] = {}
    """Measures with other definitions in these scenarios."""
    set: Parameters = {}
    """Changed fields of the scenario file."""
    congestion: Congestion | None = None
    """Sets the numbers of flows and the buffer by a level of congestion."""
    steps: list[Step] = []
    """Changes after a run of the scenario as it was before.

    Each is followed by another run; the last one counts.
    """

    @model_validator(mode="after")
    def _equal_lengths(self) -> Self:
        if self.points:
            _check_lengths(self.points, "points", "value")
        return self


def _check_lengths(lists: Mapping[str, Sequence[Any]], field: str, what: str) -> None:
    """Rejects lists of different length, and an empty set of lists."""
    if len({len(values) for values in lists.values()}) != 1:
        raise expected(f"lists of equal length, one for each {what}", lists, field=field)


class Queue(NamedTable):
    """A queue that the paper compares."""

    title: str = ""
    """The queue in one phrase."""
    queue: Parameters
    """Its `aqm` and parameters, as in a scenario file."""
    like: str = ""
    """The queue of the same scheme, whose color it has in figures."""
    values: dict[str, Value] = {}
    """Values for braces of measures and steps."""


class Setting(NamedTable):
    """A change of the scenarios, made for some grids."""

    title: str = ""
    """The setting in one phrase."""
    set: Parameters
    """Changed fields of the scenario file."""


class CurveTable(NamedTable):
    """Queues that differ in some parameters: the points of a trade-off."""

    title: str = ""
    """The curve in one phrase."""
    queue: Parameters
    """The common parameters of all points."""
    vary: dict[str, list[float | int | str]]
    """Parameters with one value for each point, texts or numbers; lists of equal length."""

    @model_validator(mode="after")
    def _equal_lengths(self) -> Self:
        _check_lengths(self.vary, "vary", "parameter")
        return self


class TradeOff(FileModel):
    """The two measures of curves."""

    x: str = "delay"
    """The cost: the measure on the x axis."""
    y: str = "utilization"
    """The benefit: the measure on the y axis."""


class StepResponse(FileModel):
    """The step of the set point to which designs respond."""

    size: float = 1.0
    """Height of the step, in packets."""
    duration: float = 60.0
    """The computed time, in seconds."""


class DesignTable(NamedTable):
    """A controller at an operating point. All other fields are arguments of the method."""

    model_config = ConfigDict(extra="allow")

    method: str
    """A function of `DESIGNS` in the experiment's `extra.py`."""


class Fluid(NamedTable):
    """A run of the fluid model with the code of a queue as its controller."""

    queue: Parameters
    """The queue, as in a scenario file."""
    plant: Parameters
    """The plant of the fluid model.

    Its fields are `classes` of flows, `capacity` in packets/s, `limit` in packets, `packet` in bytes, and `drops`.
    """
    run: Parameters
    """`duration` in seconds and `every`, the number of steps between two samples."""


class GridTable(NamedTable):
    """A grid of runs: scenarios by queues by settings."""

    title: str = ""
    """The part of the paper that it reruns (default: its key)."""
    scenarios: list[str] = []
    """Scenarios and families; `*` matches any letters of a scenario's name."""
    queues: list[str] = []
    """Queues."""
    curves: list[str] = []
    """Curves: each includes all its queues."""
    settings: list[str] = []
    """Settings; `""` is the scenario unchanged (default: only that)."""
    measures: list[str] = []
    """Measures in its table (default: all)."""
    replications: int | None = Field(default=None, ge=1)
    """Seeds of its runs, if fewer than the paper's are enough.

    Default: the paper's. `--seeds` overrides it.
    """
    optional: bool = False
    """Whether a whole rerun skips it.

    It runs when it is requested by name, or with `--full`.
    """
    quick_set: Parameters = {}
    """Fields of the scenario file that `--quick` changes."""
    pairs: bool = False
    """Whether its queues are compared pair by pair, in the measures that have `better`."""
    fixed: bool = False
    """Whether `--queues` keeps its queues: a reference for other grids."""
    quick_scenarios: list[str] | None = None
    """The scenarios that `--quick` runs, as patterns (default: all).

    Shares of cells are then judged over these alone.
    """


class Score(NamedTable):
    """A line of the score card: targets of a queue against the `reference_queue`.

    It is counted in every scenario of the grids that have the measures of all scores.
    """

    holds: dict[str, str] = Field(min_length=1)
    """Measures and the targets of their means, divided by those of the reference.

    An example is `wait = "<= 0.5"`.
    """


class Omitted(Variable):
    """A value that the paper omits and `sojourn infer` searches."""

    id: PlainName
    """Its name in tables."""
    grids: list[str] = []
    """The grids whose runs depend on it (default: all)."""


class ExperimentFile(FileModel):
    """`experiment.toml`."""

    id: FolderName
    """Its name, equal to that of its folder."""
    aliases: list[str] = []
    """Other names for `sojourn reproduce`."""
    title: str
    """Its title."""
    authors: list[str] = []
    """Its authors."""
    venue: str = ""
    """The venue of the paper.

    With a venue the experiment is a paper: a claim is the paper's unless its `origin` names another one.
    """
    year: int | None = None
    """The year of publication."""
    summary: str = ""
    """Its content and results, for the head of the report."""
    style: FileName | None = None
    """A style sheet of matplotlib in the folder, such as `mine.mplstyle`.

    Its settings apply to all figures.
    """
    replications: int = Field(default=5, ge=1)
    """Seeds of a run."""
    quick: int = Field(default=2, ge=1)
    """Seeds with `--quick`."""
    compares: Literal["queue", "controller", "start-up"] = "queue"
    """The kind of `queues`: tables of a queue, or of a congestion controller.

    An example of the latter is `{ cc = "ledbat" }`.
    """
    queue_at: OneOrMore = ("links.bottleneck.queue",)
    """The place of the queue in a scenario: a field or a list of fields."""
    reference_queue: str = ""
    """The queue with which the others are compared.

    Tables mark differences from it, and `scores` count against it.
    """
    published: list[FileName] = []
    """CSV files with values printed in the paper: scenario, queue, measure, value, unit."""
    reference: list[FileName] = []
    """CSV files of the same form with values of another simulator."""
    columns: Annotated[dict[str, Column], Keyed] = {}
    """Columns of traces that measures name."""
    keep_traces: bool = True
    """Whether records keep their traces, for figures.

    If not, the measures of a run are computed when it ends, and nothing is cached: for long traces.
    """
    measures: Annotated[dict[str, Measure], Words, Keyed] = {}
    """The measures."""
    scenarios: Annotated[dict[str, ScenarioTable], Words, Keyed] = {}
    """The scenarios."""
    families: dict[str, Family] = {}
    """Families of scenarios."""
    queues: Annotated[dict[str, Queue], Words, Keyed] = {}
    """The queues."""
    curves: Annotated[dict[str, CurveTable], Words, Keyed] = {}
    """Curves of queues."""
    trade_off: TradeOff = TradeOff()
    """The measures of curves, for `advantage`, `reach` and figures of kind `trade-off`."""
    settings: Annotated[dict[str, Setting], Words, Keyed] = {}
    """The settings."""
    designs: Annotated[dict[str, DesignTable], Keyed] = {}
    """Controllers whose loops are analyzed."""
    step: StepResponse = StepResponse()
    """The step to which designs respond."""
    fluids: Annotated[dict[str, Fluid], Keyed] = {}
    """Runs of the fluid model."""
    scores: Annotated[dict[str, Score], Keyed] = {}
    """The score card: the number of scenarios in which each queue meets some targets."""
    draws: list[Variable] = []
    """Values that the paper did not record, such as exact start times, drawn for each seed."""
    omitted: list[Omitted] = []
    """Values that the paper omits, with the ranges that `sojourn infer` searches."""
    grids: Annotated[dict[PlainName, GridTable], Keyed] = {}
    """The grids of runs."""
    figures: list[FigureSpec] = []
    """The figures."""
