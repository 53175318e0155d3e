"""A picture of a live run in the terminal."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

from rich.console import Group
from rich.live import Live
from rich.table import Table

from sojourn.cli.output import err

State = dict[str, Any]

BAR = 20
"""Width in characters of the bar of a link's load."""


class Picture:
    """Tables of links and groups that are renewed while a block runs."""

    def __init__(self, state: Callable[[], State | None]) -> None:
        self._state = state
        self._before: State | None = None
        self._live = Live(console=err, refresh_per_second=4, transient=True)

    def __enter__(self) -> Picture:
        self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self._live.stop()

    def update(self) -> None:
        """Shows the latest state, with rates since the state before."""
        now = self._state()
        if now is None or (self._before is not None and now["at_s"] <= self._before["at_s"]):
            return
        before, self._before = self._before, now
        if before is not None:
            self._live.update(drawn(before, now))


def drawn(before: State, now: State) -> Group:
    """The tables of a state; rates are those since the state before."""
    span = now["at_s"] - before["at_s"]
    links = Table("link", "Mbit/s", "load", "queue", "delay ms", "dropped", "marked", title=f"{now['at_s']:.1f} s")
    for was, link in zip(before["links"], now["links"], strict=True):
        bps = (link["bytes"] - was["bytes"]) * 8 / span
        load = min(1.0, bps / link["rate_bps"]) if link["rate_bps"] else 0.0
        bar = "█" * round(load * BAR)
        links.add_row(
            link["name"],
            f"{bps / 1e6:.2f}",
            f"{bar:<{BAR}}",
            f"{link['queue']}",
            f"{link['delay_ms']:.2f}",
            f"{link['dropped']}",
            f"{link['marked']}",
        )
    groups = Table("group", "Mbit/s", "goodput", "RTT ms", "dropped", "marked")
    for was, group in zip(before["groups"], now["groups"], strict=True):
        rates = [(group[name] - was[name]) * 8 / span / 1e6 for name in ("bytes", "goodput_bytes")]
        rtt = "" if group["rtt_ms"] is None else f"{group['rtt_ms']:.2f}"
        groups.add_row(
            group["name"], *[f"{rate:.2f}" for rate in rates], rtt, f"{group['dropped']}", f"{group['marked']}"
        )
    return Group(links, groups, f"lateness p99 {now['late_p99_us']:.0f} us")
