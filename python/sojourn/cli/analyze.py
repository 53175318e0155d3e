"""The command that compares the fluid model with a packet simulation: `analyze`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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


@dataclass
class Analysis:
    """What the model says of one loop; what it can't say is None, and `notes` say why."""

    loop: Loop
    point: Point | None = None
    margins: Margins | None = None
    predicted: LimitCycle | None = None
    """By describing function."""
    simulated: LimitCycle | None = None
    """By integrating the nonlinear equations."""
    notes: list[str] | None = None


def analyze(
    file: Annotated[Path, typer.Argument(help="A scenario file.")],
    link: Annotated[str | None, typer.Option("--link", help="The link (default: the slowest that is used).")] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Seed of the packet simulation.", min=0, max=LAST_SEED)
    ] = None,
    change: Set = None,
    out_dir: Annotated[Path | None, typer.Option("--out", help="Folder for figures.")] = None,
) -> None:
    """Prints a queue law's operating point and margins, and compares them with a packet simulation."""
    from sojourn.analysis import Loop, managed  # here: python-control takes a second to load

    check_folder(out_dir)
    scenario = load_changed(file, change)
    chosen = managed(scenario, link)
    if chosen.queue.get("aqm") == "external":
        where = f"{file}: links.{chosen.link}.queue"
        raise UserError(f"{where}: a law in Python is analyzed from Python: sojourn.analysis.Loop")
    record = run_scenario(_traced(scenario, chosen.link), seed)
    found = _analyzed(Loop(chosen.queue, chosen.plant))
    out.print(f"{scenario.get('name', file.stem)}: {chosen.queue['aqm']} on {chosen.link}, {_plant(chosen)}")
    out.print(_table(chosen, record, found.point))
    if found.margins:
        out.print(f"margins: {found.margins.describe()}")
    for note in found.notes or []:
        out.print(f"note: {note}")
    peak = _peak(record, chosen.link)
    if peak:
        out.print(f"the measured queue oscillates most at {peak:.3g} Hz ({2 * math.pi * peak:.3g} rad/s)")
    if out_dir is not None:
        say_written(_draw(chosen, record, found, out_dir))


def _traced(scenario: Scenario, link: str) -> Scenario:
    traced = scenario.copy()
    traced.set("trace.queue", {"links": [link], "every": "10 ms"})
    return traced


def _analyzed(loop: Loop) -> Analysis:
    """Operating point, margins and limit cycles, as far as the model has them."""
    from sojourn.analysis import predicted_limit_cycle, simulated_limit_cycle
    from sojourn.analysis.feedback_loop import LEAST_WINDOW

    found = Analysis(loop, notes=list(loop.plant.notes))
    notes: list[str] = []
    try:
        found.point = loop.point()
        found.notes = loop.cautions(found.point)
        if found.point.window < LEAST_WINDOW:
            notes.append(f"no margins: they mean little at windows of {found.point.window:.2f} packets")
        else:
            margins = loop.margins()
            found.predicted, found.simulated = predicted_limit_cycle(loop), simulated_limit_cycle(loop)
            found.margins = margins
            notes += _limit_cycle_notes(margins, found)
    except ScenarioError as error:
        notes.append(str(error))
    found.notes = notes + (found.notes or [])
    return found


def _limit_cycle_notes(margins: Margins, found: Analysis) -> list[str]:
    notes = []
    for source, cycle in (("by describing function", found.predicted), ("of the nonlinear equations", found.simulated)):
        if cycle is not None:
            size = f"amplitude {cycle.amplitude:.3g} packets around a mean of {cycle.mean:.3g}"
            notes.append(f"limit cycle {source}: {size}, {cycle.hertz:.3g} Hz ({cycle.omega:.3g} rad/s)")
    if found.simulated is None:
        return notes if margins.stable else [*notes, "the loop is unstable, but the model finds no regular oscillation"]
    if margins.stable:
        notes[-1] += ", from an empty start, although small deviations decay"
    if found.predicted is None:
        notes.append("describing functions predict no limit cycle: none balances before it empties the queue")
    return notes


def _plant(chosen: Managed) -> str:
    plant = chosen.plant
    delays = [each.delay * 1e3 for each in plant.classes]
    low, high = min(delays), max(delays)
    spread = f"{low:.3g} ms" if high - low < 0.1 else f"{low:.3g} to {high:.3g} ms"
    mode = "drops" if plant.drops else "marks"
    return f"{plant.flows:g} flows, {plant.capacity:.4g} packets/s, round trip {spread} without the queue, {mode}"


def _table(chosen: Managed, record: Record, point: Point | None) -> Table:
    """The model's operating point and the means of the packet simulation."""
    table = Table(title="operating point of the model, and means of the packet simulation", title_justify="left")
    for name in ("", "model", "packets"):
        table.add_column(name, justify="left" if not name else "right")
    at = record.value(f'links."{chosen.link}"')
    lost = (at["dropped_total"] + (0 if chosen.plant.drops else at["marked"])) / max(at["arrived"], 1)
    signal = "dropped (%)" if chosen.plant.drops else "dropped or marked (%)"
    rows: list[tuple[str, float | None, float | None]] = [
        ("queue (packets)", point.queue if point else None, at["queue"]["mean"]),
        ("standard deviation of the queue (packets)", None, at["queue"]["sd"]),
        ("utilization (%)", 100 * point.utilization if point else None, 100 * (at["utilization"] or 0.0)),
        (signal, 100 * point.probability if point else None, 100 * lost),
        ("round trip (ms)", 1e3 * float(np.mean(point.rtts)) if point else None, _rtt(record)),
        ("window (packets)", point.window if point else None, None),
    ]
    for name, model, packets in rows:
        table.add_row(name, *("–" if v is None or math.isnan(v) else f"{v:.4g}" for v in (model, packets)))
    return table


def _rtt(record: Record) -> float | None:
    means = [g["rtt_ms"]["mean"] for g in record["groups"] if g.get("rtt_ms")]
    return float(np.mean(means)) if means else None


def _peak(record: Record, link: str) -> float:
    """The frequency in Hz where the queue's spectrum times frequency is highest; 0 where the queue is constant."""
    from sojourn.analysis import queue_spectrum

    series = record.series[f"queue/{link}"]
    if np.ptp(series["packets"]) == 0:
        return 0.0
    f, power = queue_spectrum(series["t"], series["packets"], float(record["warmup_s"]))
    return float(f[np.argmax(f * power)])


def _draw(chosen: Managed, record: Record, found: Analysis, folder: Path) -> list[Path]:
    from sojourn.analysis import queue_spectrum
    from sojourn.plots import loops, save_figure

    series, duration = record.series[f"queue/{chosen.link}"], float(record["duration_s"])
    written: list[Path] = []
    try:
        fluid = found.loop.simulate(duration)
    except ScenarioError as error:
        out.print(f"note: no trajectory: {error}")
    else:
        written += save_figure(loops.trajectories(series, fluid, duration), folder, "trajectory")
    f, power = queue_spectrum(series["t"], series["packets"], float(record["warmup_s"]))
    figure = loops.spectrum(f, power, found.margins, found.predicted, found.simulated)
    written += save_figure(figure, folder, "spectrum")
    if found.margins is not None:
        for name, drawn in loops.bode_and_nyquist(found.loop).items():
            written += save_figure(drawn, folder, name)
    return written
