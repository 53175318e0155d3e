"""What a scenario asks for at times that its run does not reach."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sojourn import _sojourn
from sojourn.scenario import Scenario


def after_the_end(scenario: Scenario) -> list[str]:
    """A sentence for each event that is due at or after the end of the run, in the order of the file.

    An event is a change of a link, an outage, a new route of a group, or the start of a group's first flow. The
    scenario must be one that can be run. None is refused, because a run is often cut short by `--set duration=...`.

    ```python
    scenario = sj.load("examples/dumbbell.toml").set("flows.ftp.start", "90 s")
    after_the_end(scenario)  # ['flows.ftp.start: 90 s is not before the end of the run (60 s): it never happens']
    ```
    """
    end = scenario["duration"]
    last = _sojourn.quantity("time", end)
    return [
        f"{field}: {time} is not before the end of the run ({end}): it never happens"
        for field, time in _events(scenario)
        if _sojourn.quantity("time", time) >= last
    ]


def _events(scenario: Scenario) -> Iterator[tuple[str, str]]:
    """The events: field and time."""
    for section, keys in (("links", ("changes", "impairments")), ("flows", ("reroute",))):
        for part in scenario.get(section, []):
            name = part.get("name", f"{part['from']}->{part['to']}")
            field = f"{section}.{name}"
            yield from ((f"{field}.start", time) for time in _first(part.get("start", [])))
            for key in keys:
                events = enumerate(part.get(key, []))
                yield from ((f"{field}.{key}[{i}].at", event["at"]) for i, event in events if "at" in event)


def _first(start: Any) -> list[str]:
    """The earliest start of a group's flows, or nothing where it is drawn without a bound."""
    if isinstance(start, dict):
        start = start.get("uniform") or start.get("spread") or start.get("first", [])
    times = [start] if isinstance(start, str) else start
    return [min(times, key=lambda time: _sojourn.quantity("time", time))] if times else []
