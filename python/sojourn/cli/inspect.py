"""Commands that run no simulation: `list`, `check`, `schema`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from sojourn import _sojourn, measures
from sojourn.cli.output import out
from sojourn.errors import UserError
from sojourn.extras import MissingExtraError, require
from sojourn.scenario import load

if TYPE_CHECKING:
    from sojourn.papers import Paper

KINDS = {
    "aqm": "queue management, in a queue's `aqm`",
    "cc": "congestion control, in `tcp.control.cc`",
    "traffic": "traffic, in a group's `traffic.kind`",
    "impairment": "what a link does to packets besides queuing them, in `links.impairments`",
    "profile": "behavior of a TCP stack, in `tcp.profile`",
    "tcp": "TCP options with their default in each profile, in `tcp`",
    "measures": "measures, by their part of a record",
    "papers": "papers to reproduce",
}

# Where the schema describes the parameters of a kind, and the field that names the algorithm.
TAGS = {
    "aqm": ("Queue", "aqm"),
    "cc": ("CcConfig", "cc"),
    "traffic": ("Traffic", "kind"),
    "impairment": ("Impairment", "kind"),
}


def register(app: typer.Typer) -> None:
    """Adds the commands."""
    app.command("list")(list_)
    app.command()(check)
    app.command()(schema)


def list_(
    kind: Annotated[
        str | None, typer.Argument(help="aqm, cc, traffic, impairment, profile, tcp, measures or papers.")
    ] = None,
    name: Annotated[str | None, typer.Argument(help="One of them, with its parameters.")] = None,
) -> None:
    """Lists algorithms, traffic, TCP profiles, measures and papers, or the parameters of one."""
    if kind is not None and kind not in KINDS:
        raise UserError.expected("list", f"one of {', '.join(KINDS)}", kind)
    if kind is None or name is None:
        for each in [kind] if kind else list(KINDS):
            try:
                out.print(_overview(each, _entries(each)))
            except MissingExtraError as error:
                if kind:
                    raise
                out.print(f"{each}: {KINDS[each]}: {error}")
        return
    entries = _entries(kind)
    found = [entry for entry in entries if name in (entry["name"], *entry.get("aliases", []))]
    if not found:
        raise UserError.expected(f"list {kind}", f"one of {', '.join(entry['name'] for entry in entries)}", name)
    _show_entry(found[0])


def _entries(kind: str) -> list[dict[str, Any]]:
    """The entries of a kind."""
    if kind == "papers":
        require("pydantic")
        from sojourn.papers import find_papers

        return [_paper_entry(paper) for paper in find_papers()]
    if kind == "measures":
        return measures.entries()
    registry = json.loads(_sojourn.registry())
    entries: list[dict[str, Any]] = registry[kind]
    if kind in TAGS:
        definition, tag = TAGS[kind]
        described = json.loads(_sojourn.schema()).get("$defs", {}).get(definition, {})
        for entry in entries:
            entry["parameters"] = _parameters(described, tag, entry["name"])
    else:
        sentences = {option["name"]: option["summary"] for option in registry["tcp"]} if kind == "profile" else {}
        for entry in entries:
            entry["parameters"] = [
                {"name": key, "default": value, "summary": sentences.get(key)}
                for key, value in entry["parameters"].items()
            ]
    return entries


def _parameters(definition: dict[str, Any], tag: str, name: str) -> list[dict[str, Any]]:
    """The parameters of one algorithm, from the schema."""
    for choice in definition.get("oneOf", []):
        fields = choice.get("properties", {})
        if fields.get(tag, {}).get("const") == name:
            needed = choice.get("required", [])
            return [
                {
                    "name": key,
                    "default": "required" if key in needed else field.get("default"),
                    "summary": " ".join(str(field.get("description", "")).split()),
                }
                for key, field in fields.items()
                if key != tag
            ]
    return []


def _paper_entry(paper: Paper) -> dict[str, Any]:
    """A paper as an entry, its experiments as parameters."""
    parameters = [{"name": e.id, "default": "", "summary": e.title} for e in paper.experiments.values()]
    return {"name": paper.id, "aliases": paper.file.aliases, "summary": paper.citation, "parameters": parameters}


def _overview(kind: str, entries: list[dict[str, Any]]) -> Table:
    """A table with a line for each entry."""
    table = Table(title=f"{kind}: {KINDS[kind]}", title_justify="left", box=None, pad_edge=False, show_header=False)
    for entry in entries:
        table.add_row(f"  {entry['name']}", entry.get("summary", ""))
    return table


def _show_entry(entry: dict[str, Any]) -> None:
    """Prints one entry with its parameters and their defaults."""
    out.print(f"{entry['name']}: {entry.get('summary', '')}")
    parameters = entry.get("parameters") or []
    if not parameters:
        out.print("no parameters")
        return
    table = Table(box=None, pad_edge=False)
    for column in entry.get("columns", ("name", "default", "what it is")):
        table.add_column(column)
    for parameter in parameters:
        default = parameter.get("default")
        shown = "" if default is None else default if isinstance(default, str) else json.dumps(default)
        table.add_row(str(parameter["name"]), shown, str(parameter.get("summary") or ""))
    out.print(table)


def check(
    file: Annotated[Path, typer.Argument(help="A scenario file.")],
    resolved: Annotated[bool, typer.Option("--resolved", help="Print it with every default filled in.")] = False,
) -> None:
    """Checks a scenario without running it."""
    canonical = load(file).canonical()
    if resolved:
        out.print_json(canonical)
    else:
        out.print(f"{file}: can be run")


def schema(
    file: Annotated[str, typer.Argument(help="scenario, or a paper's file: paper, claims or deviations.")] = "scenario",
) -> None:
    """Prints the JSON Schema of a kind of file, for completion in an editor."""
    if file == "scenario":
        found = json.loads(_sojourn.schema())
    else:
        require("pydantic")
        from sojourn.papers.schema import schema_of

        found = schema_of(file)
    typer.echo(json.dumps(found, indent=2))
