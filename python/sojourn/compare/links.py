"""The links of a comparison, and notes on the delay and losses at other links."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from statistics import fmean
from typing import Any, TypeAlias

from sojourn.core import field_paths
from sojourn.core.errors import UserError
from sojourn.core.record import Record
from sojourn.core.scenario import Scenario, link_paths, tables_of
from sojourn.core.text_format import listed

Links: TypeAlias = str | Sequence[str]

EVERY = "all"
"""The name of all links that have a queue."""

LEAST_WAIT = 5.0
"""The smallest mean wait in ms of another link that a note mentions."""

LEAST_LOSS = 1e-4
"""The smallest loss ratio of another link that a note mentions."""


def queued_link(scenario: Scenario, link: str | None = None) -> str:
    """The compared link: `link` if given, else the only one with a queue, else `bottleneck`.

    Raises `UserError` if that is not unique.
    """
    links = tables_of(scenario, "links")
    if not links:
        scenario.canonical()  # reports what is there instead
    names = [str(field_paths.name_of(item)) for item in links]
    if link is not None:
        known = list(link_paths(scenario))
        if link not in known:
            raise UserError.unknown(f"{scenario.label}: link", link, known)
        return link
    queued = [str(field_paths.name_of(item)) for item in links if "queue" in item]
    if len(queued) == 1:
        return queued[0]
    if "bottleneck" in names:
        return "bottleneck"
    if len(names) == 1:
        return names[0]
    raise UserError(f"{scenario.label}: link: expected the one to compare, one of {', '.join(names) or 'none'}")


def queued_links(scenario: Scenario, links: Links | None = None) -> list[str]:
    """The compared links in the scenario's order.

    `links` is a name, several names separated by commas, patterns such as `core*`, `all`, or a list of these. Patterns
    and `all` select links that have a rate. None selects one link, as `queued_link` does.

    Raises `UserError` for a name that the scenario lacks, and for a pattern that selects nothing.
    """
    if links is None:
        return [queued_link(scenario)]
    known = link_paths(scenario)
    if isinstance(links, str) and links in known:
        return [links]
    if not isinstance(links, str) and not (
        isinstance(links, Sequence) and all(isinstance(each, str) for each in links)
    ):
        raise UserError.expected(f"{scenario.label}: link", "a name, or a list of names", links)
    found: set[str] = set()
    for each in [part.strip() for part in links.split(",")] if isinstance(links, str) else links:
        if each in known or not (each == EVERY or set(each) & set("*?[")):
            found.add(queued_link(scenario, each))
            continue
        chosen = {name for name in _with_rate(scenario) if each == EVERY or fnmatchcase(name, each)}
        if not chosen:
            what = f"a pattern of a link with a rate, such as {listed(_with_rate(scenario))}"
            raise UserError.expected(f"{scenario.label}: link", what, each)
        found |= chosen
    if not found:
        raise UserError.expected(f"{scenario.label}: link", "one or more links", "none")
    return [name for name in known if name in found]


def _with_rate(scenario: Scenario) -> list[str]:
    """The links that have a rate or a trace, so a queue."""
    return [link["name"] for link in scenario.resolved()["links"] if link.get("rate") or link.get("trace")]


@dataclass(frozen=True)
class _Share:
    """What a queue can hold: its name in a note, its unit, and where a link of a record has it."""

    name: str
    text: str
    of: Callable[[Mapping[str, Any]], float]
    least: float


_SHARES = (
    _Share("delay", "mean wait {:.3g} ms", lambda link: (link["wait_ms"] or {}).get("mean", 0.0), LEAST_WAIT),
    _Share("losses", "loss ratio {:.2g}", lambda link: link["loss_ratio"] or 0.0, LEAST_LOSS),
)


def held_elsewhere(cases: Mapping[str, Sequence[Record]], links: Sequence[str]) -> list[str]:
    """Notes on cases in which the queue of another link holds the delay or the losses.

    There is one note for each such link and share. It names the cases unless it applies to all.
    """
    found: dict[tuple[str, _Share], dict[str, float]] = {}
    for case, records in cases.items():
        for share in _SHARES:
            at = {link["name"]: fmean(map(share.of, _same(records, link["name"]))) for link in records[0]["links"]}
            most = max((at[name] for name in links if name in at), default=0.0)
            for name, value in at.items():
                if name not in links and value > most and value >= share.least:
                    found.setdefault((name, share), {})[case] = value
    return [_note(name, share, values, len(cases), links) for (name, share), values in found.items()]


def _same(records: Sequence[Record], link: str) -> list[Mapping[str, Any]]:
    """A link in each of these records."""
    return [each for record in records for each in record["links"] if each["name"] == link]


def _note(link: str, share: _Share, values: Mapping[str, float], cases: int, links: Sequence[str]) -> str:
    """The note that `link` holds this share in these cases."""
    where = f"{listed(values)}: " if len(values) < cases else ""
    size = share.text.format(max(values.values()))
    both = ",".join([*links, link])
    return f"{where}the queue of {link} holds the {share.name} ({size}): --link '{both}' includes it"
