"""An access line with too much buffer: 100 Mbit/s down, 20 Mbit/s and 300 ms of buffer up."""

from typing import Any

import sojourn as sj


def access_line(**changes: Any) -> sj.Scenario:
    """The line with two downloads, two uploads and a ping; its round-trip propagation delay is 20 ms.

    `changes` are fields at the top level.
    """
    line = {"name": "line", "from": "isp", "to": "home", "rate": "100 Mbit/s", "delay": "10 ms", "duplex": True}
    line |= {"queue": {"limit": "50 ms"}, "back": {"rate": "20 Mbit/s", "queue": {"limit": "300 ms"}}}
    flows: list[dict[str, Any]] = [
        {"name": "down", "count": 2, "from": "isp", "to": "home"},
        {"name": "up", "count": 2, "from": "home", "to": "isp"},
        {"name": "ping", "from": "home", "to": "isp", "traffic": {"kind": "ping", "every": "50 ms"}},
    ]
    tree = {"name": "home", "duration": "15 s", "warmup": "5 s", "links": [line], "tcp": {"profile": "linux"}}
    return sj.Scenario({**tree, "flows": flows, **changes})
