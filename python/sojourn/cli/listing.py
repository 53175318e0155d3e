"""The command `list`: algorithms, options, measures and papers, with their parameters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from sojourn import _sojourn, paths
from sojourn.cli.output import out
from sojourn.cli.plot_kinds import PLOTS
from sojourn.compare.cases import of_every
from sojourn.core import record_schema
from sojourn.core.errors import UserError
from sojourn.core.extras import MissingExtraError, require
from sojourn.core.scenario_schema import schema

if TYPE_CHECKING:
    from sojourn.experiments import Experiment

KINDS = {
    "aqm": "queue management, in a queue's `aqm`",
    "cc": "congestion control, in `tcp.control.cc`",
    "start-up": "starts of connections, in `tcp.start_up`",
    "traffic": "traffic, in a group's `traffic.kind`",
    "impairment": "impairments of packets on a link, in `links.impairments`",
    "profile": "behavior of a TCP stack, in `tcp.profile`",
    "tcp": "TCP options with their default in each profile, in `tcp`",
    "measures": "measures, by part of the record",
    "plots": "what can be plotted, in `plot --kind` and by other commands",
    "figures": "kinds of figures of an experiment, in `figures.kind`",
    "paths": "access links with the statistics of their sources, for `path` of a link",
    "papers": "papers to reproduce",
    "studies": "studies of this project, for `sojourn study`",
}

# The schema definition of each kind, and the field that holds the algorithm's name.
TAGS = {
    "aqm": ("Queue", "aqm"),
    "cc": ("Control", "cc"),
    "start-up": ("StartUpConfig", "name"),
    "traffic": ("Traffic", "kind"),
    "impairment": ("Impairment", "kind"),
}

# The columns of a table of parameters, with their headings.
COLUMNS = {"name": "name", "default": "default", "values": "values", "summary": "meaning"}
# The columns of a table of a controller's variables, with their headings.
VARIABLES = {"name": "variable", "unit": "unit", "summary": "meaning"}


def register(app: typer.Typer) -> None:
    """Adds the command."""
    app.command("list")(list_)


def names(kind: str) -> list[str]:
    """The names of a kind, for shell completion."""
    return [entry["name"] for entry in _entries(kind)] if kind in KINDS else []


def list_(
    kind: Annotated[
        str | None,
        typer.Argument(
            help=f"{', '.join([*KINDS][:-1])} or {[*KINDS][-1]}.",
            autocompletion=lambda: list(KINDS),
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Argument(
            help="An entry of that kind, such as codel: prints its parameters.",
            autocompletion=lambda ctx: names(ctx.params.get("kind") or ""),
        ),
    ] = None,
) -> None:
    """Lists algorithms, options, measures, paths, papers, studies.

    With a name, it lists the parameters of that entry: default, values and meaning.
    """
    if kind is not None and kind not in KINDS:
        having = [each for each in TAGS if kind in names(each)]
        meant = "".join(f"; `sojourn list {each} {kind}` lists its parameters" for each in having)
        raise UserError(f"{UserError.unknown('list', kind, KINDS)}{meant}")
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
    found = found or [entry for entry in entries if _is_series(entry["name"], name)]
    if not found:
        raise UserError.unknown(f"list {kind}", name, [entry["name"] for entry in entries])
    for entry in found:
        _show_entry(entry)


def _is_series(form: str, name: str) -> bool:
    """Whether a name matches a series form.

    `signals/bottleneck` and `signals` match the form `signals/<link>`.
    """
    kind, sign, _ = form.partition("/<")
    return bool(sign) and name.partition("/")[0] == kind


def _entries(kind: str) -> list[dict[str, Any]]:
    """The entries of a kind."""
    if kind in ("papers", "studies"):
        require("pydantic")
        from sojourn.experiments import find_experiments

        return [
            _experiment_entry(experiment)
            for experiment in find_experiments("papers" if kind == "papers" else "studies")
        ]
    if kind == "measures":
        return record_schema.entries()
    if kind == "plots":
        return [{"name": name, "summary": summary} for name, summary in PLOTS.items()]
    if kind == "figures":
        require("pydantic")
        from sojourn.experiments.schema import figure_entries

        return figure_entries()
    if kind == "paths":
        return paths.entries()
    registry = json.loads(_sojourn.registry())
    entries: list[dict[str, Any]] = registry[kind]
    if kind in TAGS:
        for entry in entries:
            entry["parameters"] = _parameters(kind, entry["name"])
    else:
        options = {option["name"]: option for option in registry["tcp"]} if kind == "profile" else {}
        for entry in entries:
            entry["parameters"] = [
                {
                    "name": key,
                    "default": value,
                    "values": options[key]["kind"] if key in options else None,
                    "summary": options[key]["summary"] if key in options else None,
                }
                for key, value in entry["parameters"].items()
            ]
            if kind == "tcp":
                entry["heads"] = {"name": "profile"}
                entry["notes"] = [f"values: {entry['kind']}", f"source: {entry['source']}"]
    return entries


def _parameters(kind: str, name: str) -> list[dict[str, Any]]:
    """The parameters of one algorithm from the schema.

    Its own come first, then those that all algorithms of its kind have.
    """
    definitions = schema().get("$defs", {})
    definition, tag = TAGS[kind]
    choices = definitions[definition].get("oneOf", [])
    common = of_every(definition, tag)
    for choice in choices:
        fields = choice.get("properties", {})
        if fields.get(tag, {}).get("const") == name:
            needed = choice.get("required", [])
            own_first = sorted(fields.items(), key=lambda each: each[0] in common)
            return [
                {
                    "name": key,
                    "default": "required" if key in needed else field.get("default"),
                    "values": values(field, definitions),
                    "summary": "\n".join([_in_one_line(field), *_choices(field, definitions)]),
                }
                for key, field in own_first
                if key != tag
            ]
    return []


def values(field: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """The values of a scenario field in short form. The field's description states its range."""
    described = _described(field, definitions)
    if "oneOf" in described:
        named = [(_name(one), one) for one in described["oneOf"]]
        return ", ".join(name if "const" in one else f"{{ {name} = ... }}" for name, one in named if name)
    if "properties" in described:
        return "{ " + ", ".join(described["properties"]) + " }"
    if examples := _examples(described, definitions):
        return f"such as {' or '.join(json.dumps(example) for example in examples)}"
    match described.get("type"):
        case "boolean":
            return "true, false"
        case "array":
            return f"[{values(described.get('items', {}), definitions)}, ...]"
        case "integer":
            return "whole number"
        case "string":
            return "text"
        case other:
            return str(other or "")


def _examples(described: Mapping[str, Any], definitions: Mapping[str, Any]) -> list[str]:
    """One example of each form in which a quantity can be written."""
    forms = [_described(one, definitions) for one in described.get("anyOf", [described])]
    return [form["examples"][0] for form in forms if "examples" in form]


def _described(field: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of a field, or the definition that it references."""
    found: Mapping[str, Any] = definitions[field["$ref"].rpartition("/")[2]] if "$ref" in field else field
    return found


def _choices(field: Mapping[str, Any], definitions: Mapping[str, Any]) -> list[str]:
    """The possible names of a field, one line each."""
    described = [one for one in _described(field, definitions).get("oneOf", []) if "description" in one]
    return [f"{_name(one)}: {_in_one_line(one)}" for one in described if _name(one)]


def _name(form: Mapping[str, Any]) -> str:
    """The name of a form: its only value, or the key of its table; empty for other forms."""
    return str(form["const"]) if "const" in form else ", ".join(form.get("properties", ()))


def _in_one_line(field: Mapping[str, Any]) -> str:
    return " ".join(str(field.get("description", "")).split())


def _experiment_entry(experiment: Experiment) -> dict[str, Any]:
    """A paper as an entry whose parameters are its experiments."""
    parameters = [{"name": e.id, "summary": e.title} for e in experiment.grids.values()]
    return {
        "name": experiment.id,
        "aliases": experiment.file.aliases,
        "summary": experiment.citation,
        "parameters": parameters,
    }


def _overview(kind: str, entries: list[dict[str, Any]]) -> Table:
    """A table with one row per entry."""
    table = Table(title=f"{kind}: {KINDS[kind]}", title_justify="left", box=None, pad_edge=False, show_header=False)
    for entry in entries:
        table.add_row(f"  {entry['name']}", entry.get("summary", ""))
    return table


def _show_entry(entry: dict[str, Any]) -> None:
    """Prints one entry with its parameters and traceable variables."""
    out.print(f"{entry['name']}: {entry.get('summary', '')}")
    for note in entry.get("notes", []):
        out.print(note)
    if entry.get("parameters"):
        _print_table(COLUMNS | entry.get("heads", {}), entry["parameters"])
    else:
        out.print("no parameters")
    if entry.get("variables"):
        out.print("\nVariables that `trace.controller` stores, besides cwnd, ssthresh, in_flight and pacing_rate:")
        _print_table(VARIABLES, entry["variables"])


def _print_table(heads: Mapping[str, str], rows: list[dict[str, Any]]) -> None:
    """Prints a table with these columns. A column without any value is left out."""
    cells = [{key: _cell(row.get(key)) for key in heads} for row in rows]
    shown = [key for key in heads if any(one[key] for one in cells)]
    table = Table(box=None, pad_edge=False)
    for key in shown:
        table.add_column(heads[key])
    for one in cells:
        table.add_row(*(one[key] for key in shown))
    out.print(table)


def _cell(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)
