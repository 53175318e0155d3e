"""The command `gate`: conditions on measures, for continuous integration."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sojourn.cli.laws import LawFiles, read_laws
from sojourn.cli.options import CacheOptions, Controller, Law, takes
from sojourn.cli.output import check_file, check_folder, err, out, progress, say_written
from sojourn.core.errors import RunError, UserError, note, one_line
from sojourn.core.extras import require
from sojourn.core.files import together, write_atomic
from sojourn.core.text_format import counted
from sojourn.exports.qlog import write_qlog
from sojourn.runs.runner import run as run_once
from sojourn.runs.runner import run_many

if TYPE_CHECKING:
    from sojourn.experiments.gate import Checked, Gate

DATA, JUNIT = "gate.json", "junit.xml"
"""The files with the verdicts."""


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command()(gate)


@dataclass(frozen=True, kw_only=True)
class GateOptions(CacheOptions):
    """What `gate` takes."""

    file: Annotated[Path, typer.Argument(help="A gate file: a scenario, seeds and conditions.")]
    out_dir: Annotated[
        Path | None,
        typer.Option("--out", help="Folder for gate.json, junit.xml, and a capture and qlog of the worst failed run."),
    ] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print values and verdicts as JSON.")] = False
    save: Annotated[
        Path | None, typer.Option("--save", help="Write the values to this baseline file, without a verdict.")
    ] = None
    law: Law = None
    controller: Controller = None


@takes(GateOptions)
def gate(options: GateOptions) -> None:
    """Checks conditions on measures; exits with 1 if one fails.

    Conditions such as "wait p99 < 20 ms" are decided by intervals over seeds. docs/gate.md describes the file.
    """
    require("pydantic", "pandas", "scipy", "control")
    from sojourn.compare.baseline import measured
    from sojourn.experiments.gate import CASE, check, read_gate

    check_folder(options.out_dir)
    if options.out_dir is not None:  # a gate that ends with an error leaves no earlier verdict
        for name in (DATA, JUNIT):
            (options.out_dir / name).unlink(missing_ok=True)
    check_file(options.save, "--save", options.file)
    laws = read_laws(options.law, options.controller)
    read = read_gate(options.file, options.save is not None, laws.laws)
    cases = list(read.cases.values())
    laws.check_used(options.file, cases, "case")
    failed = list[str]()
    with progress("gate") as on_progress, laws.one_line():
        done = run_many(
            cases,
            read.seeds,
            threads=options.threads,
            cache=options.store(),
            progress=on_progress,
            laws=laws.laws,
            failed=failed,
        )
    if failed:
        raise RunError(f"{counted(len(failed), 'run')} failed, so the gate is not decided: {failed[0]}")
    records = dict(zip(read.cases, done, strict=True))
    data = measured(str(options.file), read.seeds, {CASE: records[CASE]}, read.measures)
    data["setup"] = read.cases[CASE].to_dict()
    if options.save is not None:
        say_written([write_atomic(options.save, json.dumps(data, indent=1) + "\n")], options.as_json)
        return
    found = check(read, records)
    data |= {"passed": all(each.passed for each in found), "conditions": [each.data() for each in found]}
    for each in found:
        (err if options.as_json else out).print(one_line(each.line()))
    if options.as_json:
        typer.echo(json.dumps(data, indent=1))
    if options.out_dir is not None:
        with laws.one_line():
            written = _save(read, found, data, options.out_dir, laws)
        say_written(written, options.as_json)
    wrong = [each for each in found if not each.passed]
    if wrong:
        raise RunError(f"{options.file}: {len(wrong)} of {counted(len(found), 'condition')} failed")


def _save(read: Gate, found: list[Checked], data: dict[str, object], folder: Path, laws: LawFiles) -> list[Path]:
    """Writes the verdicts, and qlog and packets of the worst failed run; returns the files."""
    from sojourn.experiments.gate import CASE, junit

    with together(folder):
        written = [write_atomic(folder / DATA, json.dumps(data, indent=1) + "\n")]
        written.append(write_atomic(folder / JUNIT, junit(read, found)))
        wrong = [each for each in found if not each.passed]
        if wrong:
            case, seed = read.cases[CASE], read.seeds[max(wrong, key=lambda each: each.violation).worst]
            used = laws.used_by(case)
            worst = folder / f"worst-seed-{seed}.qlog"
            try:
                written.append(write_qlog(case, worst, seed, used))
            except UserError as error:  # no TCP flows, or a Linux host
                note(str(error))
            packets = worst.with_suffix(".pcapng")
            run_once(case.copy(), seed, used, pcap=packets)
            written.append(packets)
    return written
