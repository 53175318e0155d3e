"""The command that compares the fluid model with packet runs: `analyze`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from sojourn.cli.laws import read_laws
from sojourn.cli.options import Law, Set, Style, StyleOptions, Width, load_changed, with_laws
from sojourn.cli.output import check_folder, out, say_written, show
from sojourn.core.errors import ScenarioError, UserError
from sojourn.core.extras import require
from sojourn.core.ranges import Range
from sojourn.core.scenario_files import load
from sojourn.core.stats import estimate
from sojourn.runs.seeds import LAST_SEED, first_seed

if TYPE_CHECKING:
    from sojourn.analysis import LimitCycle, Loop, Managed, Margins, Point
    from sojourn.analysis.assumptions import Evidence
    from sojourn.analysis.flow_step import FlowStep
    from sojourn.analysis.means import Means, PacketRuns, Trace


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(analyze)


@dataclass
class Model:
    """The model's results for one loop. An unavailable result is None; `notes` explain why."""

    loop: Loop
    notes: list[str]
    point: Point | None = None
    margins: Margins | None = None
    predicted: LimitCycle | None = None
    """Predicted by describing functions."""
    simulated: LimitCycle | None = None
    """Found by integrating the nonlinear equations."""
    step: FlowStep | None = None


def analyze(
    file: Annotated[Path, typer.Argument(help="A scenario file.")],
    link: Annotated[
        str | None, typer.Option("--link", help="The link with the queue (default: the slowest link that flows use).")
    ] = None,
    check: Annotated[bool, typer.Option("--check/--no-check", help="Compare with short packet runs.")] = True,
    seeds: Annotated[int, typer.Option("--seeds", help="Number of packet runs.", min=1)] = 3,
    seed: Annotated[
        int | None,
        typer.Option("--seed", help="Seed of the first packet run (default: the scenario's).", min=0, max=LAST_SEED),
    ] = None,
    length: Annotated[
        float | None, typer.Option("--seconds", help="Longest packet run (default: 60 s, less on fast links).")
    ] = None,
    change: Set = None,
    law: Law = None,
    out_dir: Annotated[Path | None, typer.Option("--out", help="Folder for figures (default: no figures).")] = None,
    style: Style = None,
    width: Width = None,
) -> None:
    """Prints a queue law's margins and step response.

    The values come from a fluid model at its operating point. The command lists the model's assumptions and compares it
    with short packet runs.
    """
    check_folder(out_dir)
    require("scipy", "control", *(["matplotlib"] if out_dir else []))
    from sojourn.analysis import Loop, managed  # here: python-control takes a second to load
    from sojourn.analysis.means import fluid_run, packet_runs

    if length is not None and not (math.isfinite(length) and 0.1 <= length <= 1e6):
        raise UserError.expected("--seconds", "a number of seconds, 0.1 to 1e6", length)
    files = read_laws(law)
    laws = files.laws or None
    own = managed(load_changed(file, change), link).link if law else link
    scenario = with_laws(load(file), files, change, own)
    chosen = managed(scenario, own)
    if chosen.queue.get("aqm") == "external" and not law:
        raise UserError(f"{file}: links.{chosen.link}.queue: expected --law, the file of its law in Python, got none")
    with files.one_line():
        first = first_seed(scenario) if seed is None else seed
        runs = packet_runs(chosen, seeds, first, length, laws=laws) if check else None
        model = _modeled(Loop(chosen.queue, chosen.plant, laws), chosen.unlike_reno())
    title = f"{scenario.get('name', file.stem)}: {chosen.queue.get('law', chosen.queue['aqm'])} on {chosen.link}"
    out.print(f"{title}, {_plant(chosen)}")
    with files.one_line():
        fluid = fluid_run(model.loop, runs.end if runs else 60.0)
    _show_point(chosen, model, runs, fluid)
    if model.margins:
        out.print(f"margins: {model.margins.describe()}")
    if model.step:
        out.print(f"step response: {model.step.describe()}")
    for note in model.notes:
        out.print(f"note: {note}")
    if runs:
        _show_peak(model, runs)
    if out_dir is not None:
        with StyleOptions(style=style, width=width).styled():
            written = _draw(title, model, runs, fluid, out_dir)
        say_written(written)


def _modeled(loop: Loop, unlike_reno: list[str]) -> Model:
    """Operating point, margins and limit cycles, if the model covers the loop.

    The model does not cover the controllers `unlike_reno`.
    """
    from sojourn.analysis import predicted_limit_cycle, simulated_limit_cycle
    from sojourn.analysis.feedback_loop import no_margins
    from sojourn.analysis.flow_step import flow_step

    found = Model(loop, [])
    try:
        found.point = loop.point()
        why = no_margins(found.point.window, unlike_reno)
        if why:
            found.notes.append(why)
        else:
            margins = loop.margins()
            found.predicted, found.simulated = predicted_limit_cycle(loop), simulated_limit_cycle(loop)
            found.margins = margins
            step = flow_step(loop, found.point, margins)
            if isinstance(step, str):
                found.notes.append(step)
            else:
                found.step = step
            found.notes += _limit_cycle_notes(margins, found)
    except ScenarioError as error:
        found.notes.append(str(error))
    return found


def _limit_cycle_notes(margins: Margins, found: Model) -> list[str]:
    from sojourn.analysis.text import frequency

    notes = []
    for source, cycle in (("by describing function", found.predicted), ("of the nonlinear equations", found.simulated)):
        if cycle is not None:
            size = f"amplitude {cycle.amplitude:.3g} packets around a mean of {cycle.mean:.3g}"
            notes.append(f"limit cycle {source}: {size}, {frequency(cycle.omega)}")
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
    flows = f"{plant.flows:g} flow{'' if plant.flows == 1 else 's'}"
    return f"{flows}, {plant.capacity:.4g} packets/s, round trip {spread} without the queue, {mode}"


def _show_point(chosen: Managed, model: Model, runs: PacketRuns | None, fluid: Trace | str) -> None:
    """Prints the operating point next to the packet runs, and its assumptions."""
    from sojourn.analysis.assumptions import Evidence, assumptions, calibrated
    from sojourn.analysis.means import at_rest, of_fluid

    window, columns = "", {}
    if runs:
        window = f", {runs.start:.3g} to {runs.end:.3g} s"
        count = len(runs.records)
        seeds = f"{count} seeds, 95 % interval" if count > 1 else "1 seed"
        whole = runs.whole
        short = f" of the scenario's {whole:g} s" if runs.end < whole else ""
        out.print(f"packets: {runs.end:.3g} s{short}, the first {runs.start:.3g} s left out; {seeds}")
    if model.point:
        columns["model at rest"] = at_rest(model.point, chosen.plant)
    moving = of_fluid(fluid, chosen.plant, runs.start) if runs and not isinstance(fluid, str) else None
    if moving:
        columns[f"model{window}"] = moving
    table = _table(columns, runs, f"packets{window}", chosen.plant.drops)
    if table.row_count:
        show(table)
    if model.point is None:
        for note in chosen.plant.notes:
            out.print(f"note: {note}")
        return
    measured = (runs.mean(), runs.extra()) if runs else (None, None)
    known = Evidence(model.loop, model.point, moving, *measured)
    out.print("the operating point rests on:")
    for each in assumptions(known):
        out.print(f"  {each}")
    found = calibrated(known)
    if found and runs and any(each.holds is False for each in assumptions(known)):
        _show_calibrated(known, found)


def _show_calibrated(known: Evidence, found: Means) -> None:
    """Prints the operating point for the measured inputs.

    Also prints how much of the difference from packet runs it explains.
    """
    from sojourn.analysis.text import percent

    rest, packets = known.point, known.packets
    if packets is None:
        return
    out.print(
        f"with the measured draws, windows and round trips the law would rest at {found.queue:.3g} packets and "
        f"{percent(found.signals)} {known.acts} (model {rest.queue:.3g} and {percent(rest.probability)}, packets "
        f"{packets.queue:.3g} and {percent(packets.signals)})"
    )


def _table(columns: dict[str, Means], runs: PacketRuns | None, title: str, drops: bool) -> Table:
    """The means of the model and of packet runs, one row per quantity."""
    act = (runs.acts if runs else "") or ("dropped" if drops else "marked")
    some, part = Range(0.0), Range(0.0, 1.0)
    rows = [
        ("queue (packets)", "queue", 1.0, some),
        ("queuing delay (ms)", "wait", 1e3, some),
        ("standard deviation of the queue (packets)", "sd", 1.0, some),
        ("utilization (%)", "utilization", 100.0, part),
        (f"{act} (%)", "signals", 100.0, part),
        ("the law's probability (%)", "law", 100.0, part),
        ("round trip (ms)", "rtt", 1e3, some),
        ("window (packets)", "window", 1.0, some),
    ]
    table = Table(title="operating point", title_justify="left")
    shown = [*columns, *([title] if runs else [])]
    if not shown:
        return table
    for name in ("", *shown, *([f"packets against {[*columns][-1]}"] if runs and columns else [])):
        table.add_column(name, justify="right" if name else "left")
    for label, field, scale, within in rows:
        model = [getattr(means, field) * scale for means in columns.values()]
        cells = ["–" if math.isnan(value) else f"{value:.4g}" for value in model]
        if runs:
            measured = estimate(runs.values(field), within=within).scaled(scale)
            cells.append(measured.text(places=3))
            if columns:
                cells.append(_off(measured.mean, model[-1]))
        table.add_row(label, *cells)
    return table


def _off(packets: float, model: float) -> str:
    """The difference between packet runs and the model, in percent of the model."""
    if not (math.isfinite(packets) and math.isfinite(model)) or abs(model) < 0.01 * abs(packets):
        return ""
    return f"{100 * (packets / model - 1):+z.0f} %"


def _show_peak(model: Model, runs: PacketRuns) -> None:
    """Prints the dominant oscillation of the first run's queue."""
    from sojourn.analysis import queue_spectrum
    from sojourn.analysis.spectrum import strongest
    from sojourn.analysis.text import frequency
    from sojourn.analysis.text import peak as peak_text

    series = runs.series()
    hertz, power = queue_spectrum(series["t"], series["packets"], runs.start)
    peak = strongest(hertz, power)
    if peak is None:
        return
    at = peak_text(peak.omega, 2 * math.pi * hertz[0])
    if at != frequency(peak.omega):
        out.print(f"the measured queue varies most at {at}: windows of {1 / hertz[0]:.3g} s are too short to tell")
        return
    said = f"the measured queue oscillates most at {at}"
    rounds = peak.rounds(runs.path_rtt)
    if rounds:
        often = "once" if rounds == 1 else f"{rounds} times"
        said += f", about {often} a round trip: bursts of windows, which the model does not have"
    elif model.margins and math.isfinite(model.margins.crossover):
        said += f"; the loop's crossover is at {frequency(model.margins.crossover)}"
    out.print(said)


def _draw(title: str, model: Model, runs: PacketRuns | None, fluid: Trace | str, folder: Path) -> list[Path]:
    from sojourn.analysis import queue_spectrum
    from sojourn.plots import loops, save_figure

    written: list[Path] = []
    first = f"{title}, seed {runs.records[0]['seed']}" if runs else title
    if isinstance(fluid, str):
        out.print(f"note: no trajectory: {fluid}")
    else:
        end = runs.end if runs else float(fluid["t"][-1])
        packets = runs.series() if runs else None
        written += save_figure(loops.trajectories(packets, fluid, end, first), folder, "trajectory")
    if runs:
        series, marks = runs.series(), {}
        if model.margins is not None and not math.isnan(model.margins.crossover):
            marks["the model's crossover"] = model.margins.crossover
        if model.predicted is not None:
            marks["limit cycle, describing function"] = model.predicted.omega
        if model.simulated is not None:
            marks["limit cycle, nonlinear model"] = model.simulated.omega
        marks["once a round trip"] = 2 * math.pi / runs.path_rtt
        figure = loops.spectrum(*queue_spectrum(series["t"], series["packets"], runs.start), marks, first)
        written += save_figure(figure, folder, "spectrum")
    if model.margins is not None:
        for name, drawn in loops.bode_and_nyquist(model.loop, title).items():
            written += save_figure(drawn, folder, name)
    if model.step is not None:
        written += save_figure(loops.step_response(model.step, title), folder, "step")
    return written
