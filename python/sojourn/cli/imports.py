"""The command that converts a capture or a Flent result into a scenario: `import`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from sojourn.cli import values
from sojourn.cli.output import check_file, out
from sojourn.core.errors import UserError, one_line
from sojourn.core.files import write_atomic
from sojourn.core.foreign_names import file_name, shell_word
from sojourn.core.scenario import Scenario
from sojourn.core.text_format import counted
from sojourn.imports.measurements import imported


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("import")(import_)


def import_(
    file: Annotated[Path, typer.Argument(help="A packet capture (pcapng, pcap) or a Flent result (.flent.gz).")],
    scenario: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="The scenario file to write or replace (default: the input's name with .toml, in this folder).",
        ),
    ] = None,
    rate: Annotated[
        str | None,
        typer.Option(
            "--rate", help="The link's rate, or with a comma that of its reverse link too (default: from the file)."
        ),
    ] = None,
    rtt: Annotated[str | None, typer.Option("--rtt", help="RTT of flows whose RTT the file does not show.")] = None,
    cc: Annotated[
        str, typer.Option("--cc", help="The flows' congestion control.", autocompletion=values.controllers)
    ] = "cubic",
) -> None:
    """Converts a measurement into a scenario.

    The scenario replays the measured flows, for example with another queue or controller.
    """
    check_file(scenario, read=file)
    found = imported(file, rate, rtt, cc)
    made = found.scenario
    target = scenario or Path(f"{file_name(made['name'])}.toml")
    if scenario is None and os.path.lexists(target):
        raise UserError.expected(str(target), "a name that is free, or --out", "a file that is there")
    flows = sum(int(flow.get("count", 1)) for flow in made["flows"])
    said = [f"From {one_line(file.name)}, by `sojourn import`: {counted(flows, 'flow')}.", *found.remarks]
    write_atomic(target, "".join(f"# {line}\n" for line in said) + made.to_toml())
    out.print(one_line(f"{file}: {counted(flows, 'flow')} over {made['links'][0]['rate']}, wrote {target}"))
    out.print(f"try: sojourn compare {shell_word(target)} --queues {_queues(made)}")


def _queues(scenario: Scenario) -> str:
    """Suggested queues for this scenario.

    They are queues that mark if some flows use ECN, and the dual queue for scalable flows.
    """
    feedback = [group.get("tcp", {}).get("ecn") for group in scenario["flows"]]
    if "l4s" in feedback:
        return "'droptail,dualpi2(ecn=true),fq-codel(ecn=true)'"
    if any(feedback):
        return "'droptail,codel(ecn=true),fq-codel(ecn=true)'"
    return "droptail,codel,fq-codel"
