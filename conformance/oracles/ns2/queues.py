"""A scenario's `queue` table as ns-2 settings.

Differences of ns-2.35, and how the script compensates for them:

- `Queue/DropTail` and `Queue/REM` drop a packet that would make the queue reach `limit_`, so `"100 packets"`
  is `limit_ 101`; `Queue/RED` and `Queue/PI` compare the queue before the packet, so there it is 100
  (drop-tail.cc, rem.cc, red.cc, pi.cc: `enque`).
- `Queue/RED` is in byte mode by default since 2004, and it resolves automatic thresholds, weight and `bottom_` when
  the link is made, for packets of 500 bytes: every variable is written after that, so the reset before the run
  resolves them again (red.cc: `initialize_params`).
- In `gentle_` mode the slope above `max` is computed once, from the first `max_p` (red.cc: `reset`), even if
  adaptive RED changes `max_p` later.
- With ECN, RED marks only while the probability is at most `mark_p_` (0.1) and drops above it (red.cc: `drop_early`).
- A periodic law that ns-2 does not have runs on a PI queue with `a_ = b_ = 0`; a Tcl timer writes its probability.
- LED runs on a RED queue without `gentle_` and `wait_` and with a weight of nearly 0; a Tcl timer overwrites its
  average with the load. So RED's least queue and its counting apply, the packet size has no effect, and above `max`
  packets that could be marked are dropped.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .plan import Table
from .quantities import FieldError, is_packets, packets, size_bytes, time_ns

Reader = Callable[[Any, str, int], str]


@dataclass(frozen=True)
class Queue:
    """An ns-2 queue: class, variables in order, and the Tcl code of its periodic law, if any.

    The Tcl code is a call and a helper. In the law `%d` is the number of the link, `%r` its rate in bit/s.
    """

    kind: str
    variables: tuple[tuple[str, str], ...]
    law: str = ""
    helper: str = ""


def seconds(ns: int) -> str:
    """A time in seconds as exact decimal text."""
    return f"{ns // 1_000_000_000}.{ns % 1_000_000_000:09d}"


def _number(value: Any, field: str, _packet: int) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise FieldError(field, value, "a number")
    return repr(float(value))


def _inverse(value: Any, field: str, packet: int) -> str:
    return repr(1.0 / float(_number(value, field, packet)))


def _flag(value: Any, field: str, _packet: int) -> str:
    if not isinstance(value, bool):
        raise FieldError(field, value, "true or false")
    return "true" if value else "false"


def _unless(value: Any, field: str, packet: int) -> str:
    return "false" if _flag(value, field, packet) == "true" else "true"


def _switch(value: Any, field: str, packet: int) -> str:
    return "1" if _flag(value, field, packet) == "true" else "0"


def _count(value: Any, field: str, _packet: int) -> str:
    if isinstance(value, bool) or not isinstance(value, int):
        raise FieldError(field, value, "a whole number")
    return str(value)


def _bytes(value: Any, field: str, _packet: int) -> str:
    return str(size_bytes(value, field))


def _packets(value: Any, field: str, packet: int) -> str:
    return repr(packets(value, field, packet))


def _time(value: Any, field: str, _packet: int) -> str:
    return seconds(time_ns(value, field))


def _frequency(value: Any, field: str, _packet: int) -> str:
    return repr(1e9 / time_ns(value, field))


# Sojourn's key -> (ns-2's variable, how it is read, the default).
_RED: dict[str, tuple[str, Reader, Any]] = {
    "min": ("thresh_", _packets, 0.0),
    "max": ("maxthresh_", _packets, 0.0),
    "max_p": ("linterm_", _inverse, 0.1),
    "weight": ("q_weight_", _number, -1.0),
    "gentle": ("gentle_", _flag, True),
    "wait": ("wait_", _flag, True),
    "bytes": ("bytes_", _flag, False),
    "ecn": ("setbit_", _flag, False),
    "use_mark_p": ("use_mark_p_", _flag, True),
    "mark_p": ("mark_p_", _number, 0.1),
    "adaptive": ("adaptive_", _switch, False),
    "feng_adaptive": ("feng_adaptive_", _switch, False),
    "alpha": ("alpha_", _number, 0.01),
    "beta": ("beta_", _number, 0.9),
    "interval": ("interval_", _time, "500 ms"),
    "top": ("top_", _number, 0.5),
    "bottom": ("bottom_", _number, 0.0),
    "target": ("targetdelay_", _time, "5 ms"),
    "cautious": ("cautious_", _count, 0),
    "idle_packet": ("idle_pktsize_", _bytes, "100 B"),
}
_PI: dict[str, tuple[str, Reader, Any]] = {
    "a": ("a_", _number, 1.822e-5),
    "b": ("b_", _number, 1.816e-5),
    "interval": ("w_", _frequency, "5882353 ns"),
    "target": ("qref_", _packets, 50),
    "bytes": ("bytes_", _flag, False),
    "ecn": ("setbit_", _flag, False),
}
_REM: dict[str, tuple[str, Reader, Any]] = {
    "gamma": ("gamma_", _number, 0.001),
    "phi": ("phi_", _number, 1.001),
    "weight": ("inw_", _number, 1.0),
    "interval": ("pupdtime_", _time, "2 ms"),
    "target": ("pbo_", _packets, 20),
    "ecn": ("markpkts_", _flag, False),
}
_PD: dict[str, tuple[str, Reader, Any]] = {
    "k1": ("k1", _number, 1.0),
    "k2": ("k2", _number, 1.0),
    "k3": ("k3", _number, 0.0),
    "target": ("target", _packets, 30),
    "interval": ("interval", _time, "10 ms"),
}
_LED: dict[str, tuple[str, Reader, Any]] = {
    "min": ("thresh_", _number, 0.8),
    "max": ("maxthresh_", _number, 1.2),
    "ecn": ("setbit_", _flag, False),
    "forced": ("use_mark_p_", _unless, True),
    "weight": ("weight", _number, 0.05),
    "interval": ("interval", _time, "50 ms"),
}
_LOAD = """\
# Writes the average of RED queue `i` every `step` seconds: the moving average of the load, which falls below `least` in
# idle steps alone. `last` are the bytes that had come by the step before; the counter is 32 bits wide and wraps.
proc load {i rate weight step least {average {}} {last 0} {idle 0}} {
    global ns queue mon
    set bytes [$mon($i) set barrivals_]
    if {$average eq ""} {
        set average $least
    } else {
        set came [expr {($bytes - $last) & 0xffffffff}]
        if {$idle && $came > 0 && $average < $least} { set average $least }
        set idle [expr {$came == 0}]
        set offered [expr {$came * 8.0 / ($rate * $step)}]
        set average [expr {$average + $weight * ($offered - $average)}]
    }
    $queue($i) set ave_ $average
    $ns at [expr {[$ns now] + $step}] [list load $i $rate $weight $step $least $average $bytes $idle]
}"""
_LIKE_RED = {"count_own": True, "max_packet": "40 B", "min_queue": 2}
# The names that ns-2 and tc have for RED.
_RED_ALIASES = {variable: key for key, (variable, _, _) in _RED.items() if key not in ("max_p", "ecn")}
_RED_ALIASES |= {"probability": "max_p", "min_th": "min", "max_th": "max", "thresh": "min", "maxthresh": "max"}
_RED_ALIASES |= {"q_weight": "weight", "targetdelay": "target", "idle_pktsize": "idle_packet"}
_MEAN = ("mean_pktsize_", "mean_pktsize", "avpkt")


def _read(table: Table, known: dict[str, tuple[str, Reader, Any]], where: str, packet: int) -> list[tuple[str, str]]:
    written: Table = {}
    for key, value in table.items():
        if key in ("aqm", "limit"):
            continue
        if key == "ecn" and key not in known and value is False:
            continue
        if key not in known:
            raise FieldError(f"{where}.{key}", value, f"one of {', '.join(known)} for {table['aqm']} in ns-2")
        written[key] = value
    variables = []
    for key, (variable, read, default) in known.items():
        variables.append((variable, read(written.get(key, default), f"{where}.{key}", packet)))
    return variables


def _size(table: Table, where: str, packet: int, extra: int) -> tuple[tuple[str, str], ...]:
    """The limit of queues that multiply `limit_` by the mean packet when they count bytes.

    `extra` is 1 if ns-2 drops one packet earlier than the scenario's limit.
    """
    limit, in_bytes = table["limit"], not is_packets(table["limit"])
    if in_bytes:
        size = size_bytes(limit, f"{where}.limit")
        if size % packet:
            raise FieldError(f"{where}.limit", limit, f"a multiple of the scenario's packet, {packet} B, in ns-2")
        count = size // packet
    else:
        whole = packets(limit, f"{where}.limit", packet)
        if whole != round(whole) or whole < 1:
            raise FieldError(f"{where}.limit", limit, "a whole number of packets, one or more")
        count = round(whole) + extra
    flag = "true" if in_bytes else "false"
    return (("queue_in_bytes_", flag), ("mean_pktsize_", str(packet)), ("limit_", str(count)))


def _droptail(table: Table, where: str, packet: int) -> Queue:
    _read(table, {}, where, packet)
    if is_packets(table["limit"]):
        return Queue("DropTail", _size(table, where, packet, 1))
    limit = size_bytes(table["limit"], f"{where}.limit") + 1
    return Queue("DropTail", (("queue_in_bytes_", "true"), ("mean_pktsize_", "1"), ("limit_", str(limit))))


def _red(table: Table, where: str, packet: int) -> Queue:
    named = {_RED_ALIASES.get(key, key): value for key, value in table.items()}
    for key in ("linterm", "linterm_"):
        if key in named:
            named["max_p"] = 1.0 / float(named.pop(key))
    for key in ("mean_packet", *_MEAN):
        packet = size_bytes(named.pop(key, "0 B"), f"{where}.{key}") or packet
    in_bytes = named.pop("queue_in_bytes", named.pop("queue_in_bytes_", named.pop("qib_", False)))
    if in_bytes == is_packets(named["limit"]):
        raise FieldError(f"{where}.queue_in_bytes", in_bytes, "what limit is written in: ns-2 has one unit for both")
    return Queue("RED", (*_read(named, _RED, where, packet), *_size(named, where, packet, 0)))


def _pi(table: Table, where: str, packet: int) -> Queue:
    return Queue("PI", (*_read(table, _PI, where, packet), *_size(table, where, packet, 0)))


def _rem(table: Table, where: str, packet: int) -> Queue:
    if not is_packets(table["limit"]):
        raise FieldError(f"{where}.limit", table["limit"], "packets for rem in ns-2")
    marks = ("at_departure", "spare_unmarkable")
    for key in marks:
        if table.get(key, False) != table.get("ecn", False):
            raise FieldError(f"{where}.{key}", table.get(key, False), "what ecn is in ns-2")
    own = {key: value for key, value in table.items() if key not in marks}
    size = _size(table, where, packet, 1)[1:]  # REM's flag for bytes has another name, and is off
    return Queue("REM", (*_read(own, _REM, where, packet), *size))


def periodic(table: Table, where: str, packet: int, percent: str, interval_s: str) -> Queue:
    """A law that ns-2 does not have.

    `percent` is a Tcl expression of `$q` and `$dq` (packets), in percent. `interval_s` is its interval in seconds.
    """
    in_bytes = not is_packets(table["limit"])
    off = (("a_", "0.0"), ("b_", "0.0"), ("bytes_", "false"), ("setbit_", "false"))
    variables = (*off, *_size(table, where, packet, 0))
    counted = f"[$mon(%d) set size_] / {packet}.0" if in_bytes else "[$mon(%d) set pkts_] * 1.0"
    law = f"periodic $queue(%d) {{{counted}}} {{{percent}}} {interval_s}"
    return Queue("PI", variables, law)


def _pd(table: Table, where: str, packet: int) -> Queue:
    p = dict(_read(table, _PD, where, packet))
    percent = f"{p['k1']} * ($q - {p['target']}) + {p['k2']} * $dq + {p['k3']}"
    return periodic(table, where, packet, percent, p["interval"])


def _led(table: Table, where: str, packet: int) -> Queue:
    for key, value in _LIKE_RED.items():
        found = table.get(key, 2 if key == "min_queue" else None)
        if found != value:
            shown = json.dumps(value) if isinstance(value, bool) else value
            raise FieldError(f"{where}.{key}", "nothing" if found is None else found, f"{shown} in ns-2")
    if table.get("ecn", False) and not table.get("forced", True):
        # Without marks above 0.1 (`mark_p_`) ns-2's RED would drop at any load.
        raise FieldError(f"{where}.forced", False, "true with ecn in ns-2")
    own = {key: value for key, value in table.items() if key not in _LIKE_RED}
    variables = dict(_read(own, _LED, where, packet))
    law = f"load %d %r {variables.pop('weight')} {variables.pop('interval')} {variables['thresh_']}"
    fixed = (("linterm_", "1.0"), ("q_weight_", "1e-12"), ("gentle_", "false"), ("wait_", "false"), ("bytes_", "false"))
    return Queue("RED", (*variables.items(), *fixed, *_size(table, where, packet, 0)), law, _LOAD)


QUEUES: dict[str, Callable[[Table, str, int], Queue]] = {
    "droptail": _droptail,
    "red": _red,
    "pi": _pi,
    "rem": _rem,
    "pd": _pd,
    "led": _led,
}


def queue(table: Table, where: str, packet: int) -> Queue:
    """The ns-2 queue of a scenario's `queue` table.

    `packet` is the mean packet in bytes. Raises `FieldError`.
    """
    build = QUEUES.get(table["aqm"])
    if build is None:
        raise FieldError(f"{where}.aqm", table["aqm"], "one that ns-2 has: " + ", ".join(QUEUES))
    return build(table, where, packet)
