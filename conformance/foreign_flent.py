"""Small Flent results in the form of Flent's own tests, one for each kind of series."""

from __future__ import annotations

import json
from typing import Any

STEPS = 12
NETPERF = "/usr/bin/netperf -P 0 -D -0.20 -4 -Y CS1,CS1 -H near -t {} -l 60 -f m -- -H near -K {}"


def flent_results() -> list[bytes]:
    """The results as indented JSON."""
    return [json.dumps(_result(name, **parts), indent=1).encode() for name, parts in _RESULTS.items()]


def _flat(value: float) -> list[float | None]:
    return [value] * STEPS


def _result(name: str, results: dict[str, Any], about: dict[str, Any], metadata: dict[str, Any]) -> dict[str, Any]:
    start = 1_463_000_000.5
    raw = {
        each: [{"t": start + n, "val": 1.5, "dur": 0.2, "tcp_cwnd": 20} for n in range(3)] for each in list(results)[:2]
    }
    said = {
        "NAME": name,
        "STEP_SIZE": 0.2,
        "TOTAL_LENGTH": 2.4,
        "HOST": "near",
        "HOSTS": ["near"],
        "SERIES_META": about,
    }
    x = [round(0.2 * step, 1) for step in range(STEPS)]
    return {"version": 4, "x_values": x, "results": results, "raw_values": raw, "metadata": said | metadata}


_PING = {"Ping (ms) ICMP": _flat(20.0)}
_MEAN = {"UNITS": "Mbits/s", "MEAN_VALUE": 4.5}
_RESULTS: dict[str, dict[str, Any]] = {
    "tcp_nup": {
        "results": {f"TCP upload::{n}": [0.5 if (n + step) % 3 else None for step in range(STEPS)] for n in range(3)}
        | {"TCP upload::0::tcp_cwnd": _flat(33), "TCP upload avg": _flat(0.5), "qdisc_stats_a::drop_next": _flat(-1)}
        | _PING,
        "about": {"TCP upload::1": _MEAN | {"CONG_CONTROL": "bbr", "DATA_TOS": "0x20", "UPSTREAM_TOS": 4294967295}},
        "metadata": {"SYSCTLS": {"net.ipv4.tcp_congestion_control": "cubic"}},
    },
    "cubic_bbr": {
        "results": {"TCP download BBR BE": _flat(3), "TCP download Cubic CS1": _flat(4), "TCP upload YEAH": _flat(1)}
        | {"Ping (ms) UDP EF": _flat(21)}
        | _PING,
        "about": {"TCP download BBR BE": _MEAN | {"command": NETPERF.format("TCP_MAERTS", "bbr,bbr")}},
        "metadata": {"TEST_PARAMETERS": {"tcp_cong_control": "reno", "cc": "reno"}},
    },
    "tcp_2up_square": {
        "results": {"TCP cubic": _flat(2), "TCP reno": [None] * 4 + [1.0] * 4 + [None] * 4},
        "about": {"TCP reno": {"COMMAND": NETPERF.format("TCP_STREAM", "reno")}},
        "metadata": {},
    },
    "rtt_fair": {
        "results": {"TCP upload BE1 near": _flat(3), "TCP upload BE2 far": _flat(2), "TCP download BE2 far": _flat(5)}
        | {"Ping (ms) ICMP1 near": _flat(9), "Ping (ms) ICMP2 far": _flat(90), "Ping (ms) ICMP gate (extra)": _flat(1)},
        "about": {"Ping (ms) ICMP2 far": {"COMMAND": "/usr/bin/fping -D -p 200 -c 200   far", "MEAN_VALUE": 95.5}},
        "metadata": {"HOSTS": ["near", "far"]},
    },
    "udp_flood": {
        "results": {"UDP upload": _flat(10), "VoIP::bitrate": _flat(73.6), "VoIP::delay": _flat(10)}
        | {"HTTP latency": _flat(0.5), "TCP upload sum": _flat(4)}
        | _PING,
        "about": {"UDP upload": {"UNITS": "bits/s", "MEAN_VALUE": 9_000_000}},
        "metadata": {"TEST_PARAMETERS": {"udp_pktsize": "1200"}, "NAME": "../udp"},
    },
}
