"""The command that sets the model beside the packets: `analyze`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
import typer
from rich.table import Table

from sojourn.cli.output import check_folder, out, say_written
from sojourn.cli.runs import Set, load_changed
from sojourn.errors import ScenarioError, UserError
from sojourn.record import Record
from sojourn.running import LAST_SEED
from sojourn.running import run as run_scenario
from sojourn.scenario import Scenario

if TYPE_CHECKING:
    from sojourn.analysis import LimitCycle, Loop, Managed, Margins, Point


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(analyze)


def analyze(
    file: Annotated[Path, typer.Argument(help="A scenario file.")],
    link: Annotated[str | None, typer.Option("--link", help="The link (default: the slowest that is used).")] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Seed of the packet simulation.", min=0, max=LAST_SEED)
    ] = None,
    change: Set = None,
    out_dir: Annotated[Path | None, typer.Option("--out", help="Folder for figures.")] = None,
) -> None:
    """Prints a queue law's margins beside what the packets did."""
    from sojourn.analysis import Loop, managed, rests  # here: python-control takes a second to load
    from sojourn.analysis.loop import LEAST_WINDOW

    check_folder(out_dir)
    scenario = load_changed(file, change)
    chosen = managed(scenario, link)
    if chosen.queue.get("aqm") == "external":
        where = f"{file}: links.{chosen.link}.queue"
        raise UserError(f"{where}: a law in Python is analyzed from Python: sojourn.analysis.Loop")
    loop = Loop(chosen.queue, chosen.plant)
    record = run_scenario(_traced(scenario, chosen.link), seed)
    point, why = rests(loop)
    found, swings, reason = _linear(loop) if point else (None, Swings(), "")
    shown = chosen.queue["aqm"]
    out.print(f"{scenario.get('name', file.stem)}: {shown} on {chosen.link}, {_plant(chosen)}")
    out.print(_table(chosen, record, point))
    said = [why or reason] if why or reason else []
    if found and point and point.window < LEAST_WINDOW:
        out.print(f"no margins: they would mean little at windows of {point.window:.2f} packets")
        found, swings = None, Swings()
    if found:
        out.print(f"margins: {found.describe()}")
        said += _swing_words(found, swings)
    for caution in said + (loop.cautions(point) if point else list(chosen.plant.notes)):
        out.print(f"note: {caution}")
    peak = _peak(record, chosen.link)
    if peak:
        out.print(f"the measured queue swings most at {peak:.3g} Hz ({2 * math.pi * peak:.3g} rad/s)")
    if out_dir is not None:
        say_written(_draw(loop, chosen, record, point, found, swings, out_dir))


def _traced(scenario: Scenario, link: str) -> Scenario:
    traced = scenario.copy()
    traced.set("trace.queue", {"links": [link], "every": "10 ms"})
    return traced


class Swings(NamedTuple):
    """The limit cycle as describing functions foretell it, and as the nonlinear equations end in it."""

    foretold: LimitCycle | None = None
    found: LimitCycle | None = None


def _linear(loop: Loop) -> tuple[Margins | None, Swings, str]:
    """Margins and limit cycles, or why there are none."""
    try:
        return loop.margins(), Swings(loop.foretold_cycle(), loop.limit_cycle()), ""
    except ScenarioError as error:
        return None, Swings(), str(error)


def _plant(chosen: Managed) -> str:
    plant = chosen.plant
    delays = [each.delay * 1e3 for each in plant.classes]
    low, high = min(delays), max(delays)
    spread = f"{low:.3g} ms" if high - low < 0.1 else f"{low:.3g} to {high:.3g} ms"
    mode = "drops" if plant.drops else "marks"
    return f"{plant.flows:g} flows, {plant.capacity:.4g} packets/s, round trip {spread} without the queue, {mode}"


def _table(chosen: Managed, record: Record, point: Point | None) -> Table:
    """Equilibrium beside the means of the packet simulation."""
    table = Table(title="the model's rest beside the packets' means", title_justify="left")
    for name in ("", "model", "packets"):
        table.add_column(name, justify="left" if not name else "right")
    at = record.value(f'links."{chosen.link}"')
    lost = (at["dropped_total"] + (0 if chosen.plant.drops else at["marked"])) / max(at["arrived"], 1)
    rows: list[tuple[str, float | None, float | None]] = [
        ("queue (packets)", point.queue if point else None, at["queue"]["mean"]),
        ("its deviation (packets)", None, at["queue"]["sd"]),
        ("utilization (%)", 100 * point.utilization if point else None, 100 * (at["utilization"] or 0.0)),
        ("struck (%)", 100 * point.probability if point else None, 100 * lost),
        ("round trip (ms)", 1e3 * float(np.mean(point.rtts)) if point else None, _rtt(record)),
        ("window (packets)", point.window if point else None, None),
    ]
    for name, model, packets in rows:
        table.add_row(name, *("–" if v is None or math.isnan(v) else f"{v:.4g}" for v in (model, packets)))
    return table


def _rtt(record: Record) -> float | None:
    means = [g["rtt_ms"]["mean"] for g in record["groups"] if g.get("rtt_ms")]
    return float(np.mean(means)) if means else None


def _swing_words(found: Margins, swings: Swings) -> list[str]:
    said = []
    for source, cycle in (("by describing function", swings.foretold), ("of the nonlinear equations", swings.found)):
        if cycle is not None:
            around = f"{cycle.amplitude:.3g} packets to each side of {cycle.mean:.3g}"
            said.append(f"limit cycle {source}: {around} at {cycle.hertz:.3g} Hz ({cycle.omega:.3g} rad/s)")
    if swings.found is None:
        return said if found.stable else [*said, "the model does not swing regularly, though it does not rest either"]
    if found.stable:
        said[-1] += ", from an empty start, although small swings die out"
    if swings.foretold is None:
        said.append("describing functions foretell no limit cycle: none balances before it empties the queue")
    return said


def _series(record: Record, link: str) -> dict[str, Any]:
    return record.series[f"queue/{link}"]


def _peak(record: Record, link: str) -> float:
    """Where the spectrum of the queue, times frequency, is highest: which swings carry most."""
    from sojourn.analysis.plots import queue_spectrum

    series = _series(record, link)
    if np.ptp(series["packets"]) == 0:
        return 0.0
    f, power = queue_spectrum(series["t"], series["packets"], float(record["warmup_s"]))
    return float(f[np.argmax(f * power)])


def _draw(
    loop: Loop, chosen: Managed, record: Record, point: Point | None, found: Margins | None, swings: Swings,
    folder: Path,
) -> list[Path]:  # fmt: skip
    from sojourn.analysis import plots
    from sojourn.plots import save_figure

    series, duration = _series(record, chosen.link), float(record["duration_s"])
    written: list[Path] = []
    try:
        fluid = loop.simulate(duration)
    except ScenarioError as error:
        out.print(f"note: no trajectory: {error}")
    else:
        written += save_figure(plots.trajectories(series, fluid, duration), folder, "trajectory")
    f, power = plots.queue_spectrum(series["t"], series["packets"], float(record["warmup_s"]))
    written += save_figure(plots.spectrum(f, power, found, swings.foretold, swings.found), folder, "spectrum")
    if point is not None and found is not None:
        for name, drawn in plots.draw_all(loop).items():
            written += save_figure(drawn, folder, name)
    return written
