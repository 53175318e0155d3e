"""The command `live`: real programs behind the links of a scenario."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from sojourn.cli import values
from sojourn.cli.live_picture import Picture
from sojourn.cli.options import Out, PcapLinks, Set, load_changed, takes
from sojourn.cli.output import check_file, check_folder, check_points, err, say_written
from sojourn.cli.tables import show_record
from sojourn.core.errors import RunError, UserError
from sojourn.core.extras import require
from sojourn.core.files import written_elsewhere
from sojourn.core.record import Record
from sojourn.core.scenario import Scenario
from sojourn.linux.kernel import Capture
from sojourn.live.bridge import Bridge
from sojourn.live.delays import follow_delays
from sojourn.live.session import Session, program_at, program_host
from sojourn.runs.hosts import Host, on_host
from sojourn.runs.seeds import LAST_SEED


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(live)


@dataclass(frozen=True, kw_only=True)
class LiveOptions:
    """What `live` takes."""

    file: Annotated[Path, typer.Argument(help="A scenario file.")]
    program: Annotated[
        list[str] | None,
        typer.Argument(help="After --: a program for the first host. {peer} and {HOST} become addresses."),
    ] = None
    at: Annotated[
        list[str] | None,
        typer.Option("--at", help="A program for another host: b='iperf3 -s'. Repeatable."),
    ] = None
    send: Annotated[
        list[str] | None,
        typer.Option("--send", help="A group whose own flows are sent beside the program. Repeatable."),
    ] = None
    shell: Annotated[bool, typer.Option("--shell", help="Start a shell in the first host.")] = False
    change: Set = None
    delays: Annotated[
        list[str] | None,
        typer.Option("--delay-from-trace", help="LINK=FILE: the link's delay follows a trace. Repeatable."),
    ] = None
    seed: Annotated[
        int | None, typer.Option("--seed", help="Seed of the network (default: the scenario's).", min=0, max=LAST_SEED)
    ] = None
    bridge: Annotated[
        tuple[str, str] | None,
        typer.Option("--bridge", help="Shape the traffic between two interfaces instead: inside, outside."),
    ] = None
    realtime: Annotated[
        bool, typer.Option("--realtime", help="Give router and own flows a real-time priority, and lock memory.")
    ] = False
    picture: Annotated[
        bool | None,
        typer.Option("--picture/--no-picture", help="Show rates and queues meanwhile (default: without a program)."),
    ] = None
    out_dir: Out = None
    as_json: Annotated[bool, typer.Option("--json", help="Print the record as a JSON line.")] = False
    pcap: Annotated[Path | None, typer.Option("--pcap", help="Write the packets to this pcapng file.")] = None
    pcap_links: PcapLinks = None


@takes(LiveOptions)
def live(options: LiveOptions) -> None:
    """Runs real programs behind the links of a scenario.

    Each host becomes a network namespace of this machine; needs Linux and the rights of root. Without a program, the
    scenario's flows are sent by this machine's TCP and UDP.
    """
    require(*(["pandas", "pyarrow"] if options.out_dir else []))
    check_folder(options.out_dir)
    check_file(options.pcap, "--pcap", options.file)
    check_points(options.pcap, **{"--pcap-links": options.pcap_links})
    if options.shell and options.program:
        raise UserError.expected("--shell", "no program beside it", options.program[0])
    if options.bridge and (options.program or options.at or options.shell):
        raise UserError.expected("--bridge", "no program beside it", (options.program or options.at or ["--shell"])[0])
    if options.send and not (options.shell or options.program):
        raise UserError.expected("--send", "a program after --, or --shell, beside it", options.send[0])
    if options.at and not (options.shell or options.program):
        raise UserError.expected("--at", "a program after --, or --shell, beside it", options.at[0])
    scenario = on_host(load_changed(options.file, options.change), Host.LIVE)
    for text in options.delays or []:
        follow_delays(scenario, text)
    with nullcontext() if options.pcap is None else written_elsewhere(options.pcap) as unfinished:
        links = values.names_of(options.pcap_links)
        record, code = _run(options, scenario, None if unfinished is None else (str(unfinished), links, []))
    written = record.save(options.out_dir) if options.out_dir is not None else []
    say_written(written + ([options.pcap] if options.pcap is not None else []), options.as_json)
    if options.as_json:
        typer.echo(" ".join(record.to_json().split("\n")))
    else:
        show_record(record)
        say_pace(record)
    if code:
        raise RunError(f"the program ended with exit code {code}")


def _run(options: LiveOptions, scenario: Scenario, capture: Capture | None) -> tuple[Record, int]:
    """The record of the run, and the exit code of its program."""
    if options.bridge is not None:
        with scenario.clean_errors():
            return Bridge(scenario, options.bridge, options.seed, realtime=options.realtime).run(capture), 0
    servers = [program_at(text) for text in options.at or []]
    with scenario.clean_errors(), Session(scenario, options.seed, capture, realtime=options.realtime) as session:
        for name, _ in servers:
            session.host(name)
        first, _ = program_host(session.network)
        shell = [os.environ.get("SHELL", "sh")] if options.shell else None
        program, code = options.program or shell, 0
        shows = err.is_terminal and program is None if options.picture is None else options.picture
        picture = Picture(session.state) if shows else None
        with picture or nullcontext():
            visit: Callable[[], None] | None = picture.update if picture else None
            if program is None:
                session.drive(visit)
            else:
                session.begin(options.send or [])
                code = session.run((first, program), servers, visit)
        return session.record(), code


def say_pace(record: Record) -> None:
    """Prints how late the machine delivered packets, and what it lost."""
    pace = record["host"]["pace"]
    late = ", ".join(f"{pace[f'late_{name}_us'] / 1000:.3f} ms {name}" for name in ("p50", "p99", "max"))
    err.print(f"lateness of {pace['delivered']:,} packets: {late}")
    lost = {"unread": "not read in time", "refused": "refused by their host", "malformed": "malformed"}
    told = [f"{pace[name]:,} {what}" for name, what in lost.items() if pace[name]]
    told += [f"{pace['unconnected']:,} between hosts without a flow"] if pace["unconnected"] else []
    if told:
        err.print(f"packets outside the network: {', '.join(told)}")
    if not pace["kept_up"]:
        err.print("warning: the machine did not keep up: rates, delays and drops are not those of the scenario")
        err.print("--realtime helps on a busy machine")
