"""Queues with a planted fault each, as a scenario writes them, and a law in Python."""

from __future__ import annotations

from typing import Any

import sojourn as sj

DROPS_ECN: dict[str, Any] = {
    "scheduler": "strict",
    "classes": [{"match": {"ecn": ["ect0", "ect1"]}, "limit": "2 packets"}, {"aqm": "codel", "limit": "83 packets"}],
}
"""CoDel that keeps two packets that announce ECN and drops all others."""
FAVORS_NEAR: dict[str, Any] = {
    "scheduler": "drr",
    "classes": [
        {"match": {"group": "other"}, "share": 30, "aqm": "codel", "limit": "83 packets"},
        {"aqm": "codel", "limit": "83 packets"},
    ],
}
"""CoDel that sends thirty bytes of the flows in the group `other` for each byte of the rest."""


class Standing:
    """A law that keeps a standing queue of 60 packets."""

    def step(self, sample: sj.Sample) -> float:
        """Drops one percent for each ten packets above 60."""
        return min(max(0.001 * (sample.backlog_packets - 60.0), 0.0), 1.0)


class Eager:
    """A law that drops a tenth of all packets, however short the queue is."""

    def step(self, sample: sj.Sample) -> float:
        """A tenth."""
        return 0.1
