"""Converts a Flent result into a scenario: its flows over one link with the measured rates."""

from __future__ import annotations

import json
import math
import re
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median
from typing import Any

from sojourn import _sojourn
from sojourn.core import files
from sojourn.core.errors import UserError, note
from sojourn.core.foreign_names import scenario_name
from sojourn.core.json_text import check_shape
from sojourn.core.scenario import Scenario
from sojourn.imports.flent_series import Series, codepoint_name, command_of, host_of, is_number, kind_of, table

MOST_BYTES = 64_000_000  # bytes of the text
DEEPEST = 2000  # ms: a longer round trip without load does not measure the path
FEW = 3  # number of names in a note
SUMS = {"TCP upload sum", "TCP download sum"}
TOGETHER = 0.25  # the least fraction of the active time in which most transfers run, for a usable rate
IPERF_PAYLOAD = 1470  # bytes: payload of iperf 2 over UDP
VOICE = 172  # bytes: payload and RTP header of G.711, which Flent's VoIP tests send every 20 ms
UDP_IP = 28  # bytes
LINUX_NAMES = {"lp": "tcp-lp", "newreno": "reno"}  # kernel names of controllers that have another name here
OTHERS = {"bic", "hybla", "nv", "veno", "yeah", "bbr2"}  # controllers of Linux that the simulator lacks


def flent_scenario(file: Path, given: list[str] | None, rtt: float | None, cc: str) -> Scenario:
    """The scenario of a result.

    `rtt` in seconds is used for hosts without a probe, `cc` for flows whose controller is not named. Raises `UserError`
    for a file that is no Flent result, and `OSError` for an unreadable file.
    """
    found = _read(file)
    trips = _round_trips(found, rtt)
    base = min(trips.values())
    ups, downs = (_rate(found, down) for down in (False, True))
    rates = [each or max(ups, downs) for each in (ups, downs)]
    queue = max(20, math.ceil(max(rates) * max(trips.values()) * 1000 / 12_000))
    link: dict[str, Any] = {
        "name": "uplink",
        "from": "home",
        "to": "provider",
        "rate": given[0] if given else _mbit(rates[0]),
        "delay": f"{base / 2:.6g} ms",
        "queue": {"aqm": "droptail", "limit": f"{queue} packets"},
        "duplex": True,
    }
    back = given[1] if given else _mbit(rates[1])
    if given is None or back != link["rate"]:
        link["back"] = {"rate": back}
    controllers = _Controllers(found)
    tcp = {"profile": "linux"} | controllers.of_all(cc)
    groups = _groups(found, trips, controllers)
    controllers.note_others(cc)
    probes = [group["name"] for group in groups if "every" in group.get("traffic", {})]
    tree = {
        "name": scenario_name(str(found.metadata.get("NAME") or "flent")),
        "duration": f"{found.x[-1] + found.step:.6g} s",
        "links": [link],
        "tcp": tcp,
        "flows": groups,
        "trace": {"throughput": {"flows": ["*"], "every": "200 ms"}}
        | ({"rtt": {"flows": [f"{name}/*" for name in probes]}} if probes else {}),
    }
    return Scenario(tree, str(file))


@dataclass(frozen=True)
class Result:
    """The parts of a result that a scenario uses: its times, and its non-empty series by kind."""

    file: Path
    x: list[float]
    metadata: dict[str, Any]
    transfers: list[Series]
    datagrams: list[Series]
    probes: list[Series]
    voip: list[Series]

    @property
    def step(self) -> float:
        """The last time step in seconds."""
        return self.x[-1] - self.x[-2]

    def flows(self, down: bool) -> list[Series]:
        """The series that load one direction of the link."""
        return [each for each in (*self.transfers, *self.datagrams) if each.is_down == down]

    def parameter(self, name: str) -> str:
        """A parameter of the test as text; empty if missing."""
        value = table(self.metadata.get("TEST_PARAMETERS")).get(name)
        return str(value) if isinstance(value, str | int) else ""


def _read(file: Path) -> Result:
    """Reads the result in a file. Issues notes on omitted series."""
    data = _data(file)
    x, results, metadata = data["x_values"], data["results"], data["metadata"]
    kinds: dict[str, list[Series]] = {}
    meta, raw = table(metadata.get("SERIES_META")), table(data.get("raw_values"))
    many = metadata.get("HOSTS")
    named = [*(many if isinstance(many, list) else []), metadata.get("HOST")]
    hosts = dict.fromkeys(host for host in named if isinstance(host, str) and host)
    if not hosts:
        hosts = dict.fromkeys(filter(None, (host_of("", command_of(table(about)), {}) for about in meta.values())))
    for name, values in results.items():
        about, samples = table(meta.get(name)), raw.get(name)
        kind = kind_of(name, results, command_of(about))
        if kind == "statistic" or (kind == "derived" and not _is_only_sum(name, results)):
            continue
        host = host_of(name, command_of(about), hosts)
        kind = "transfer" if kind == "derived" else kind
        if kind != "other" and (wrong := _wrong(name, values, x)):
            raise UserError(f"{file}: {wrong}")
        series = Series(name, x, values, host, about, samples if isinstance(samples, list) else [])
        kinds.setdefault(kind, []).append(series)
    _note_names("a scenario has no such traffic, so these series are left out", kinds.pop("other", []))
    _note_names("these series have no values, so they are left out", _without_values(kinds))
    used = {kind: [each for each in series if each.has_values] for kind, series in kinds.items()}
    if not used.get("transfer") and not used.get("datagrams"):
        few = ", ".join(f'"{name}"' for name in list(results)[:FEW]) or "none"
        raise UserError(f'{file}: results: expected series "TCP upload" or "TCP download" with values, got {few}')
    return Result(file, x, metadata, *(used.get(kind, []) for kind in ("transfer", "datagrams", "probe", "voip")))


def _is_only_sum(name: str, results: dict[str, Any]) -> bool:
    """Whether a series is the sum of transfers that the result lacks individually."""
    start = name.removesuffix(" sum")
    if name not in SUMS:
        return False
    return not any(each.startswith(start) and kind_of(each, results, "") == "transfer" for each in results)


def _without_values(kinds: dict[str, list[Series]]) -> list[Series]:
    return [each for kind, many in kinds.items() for each in many if kind != "voip" and not each.has_values]


def _note_names(what: str, series: Iterable[Series]) -> None:
    """Issues a note about series that names the first few."""
    names = [f'"{each.name}"' for each in series]
    if names:
        more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
        note(f"{what}: {', '.join(names[:FEW])}{more}")


def _round_trips(found: Result, rtt: float | None) -> dict[str, float]:
    """The round-trip time without load to each host in ms.

    It is the minimum of the host's probes, else `rtt` in seconds.
    """
    flows = [*found.transfers, *found.datagrams, *found.probes, *found.voip]
    known: dict[str, float] = {}
    for probe in found.probes:
        least = min(value for value in probe.values if value)
        known[probe.host] = min(least, known.get(probe.host, math.inf))
    if rtt is None and not known:
        wanted = 'a probe ("Ping (ms) ...") that shows a round-trip time, or --rtt'
        raise UserError(f"{found.file}: results: expected {wanted}, got none")
    median_ms = median(known.values()) if rtt is None else 1000 * rtt
    unknown = sorted({each.host for each in flows} - set(known))
    if unknown and rtt is None:
        few = ", ".join(unknown[:FEW])
        note(f"no probe of {few}: flows there get the median RTT of the other hosts, {median_ms:.3g} ms")
    trips = known | dict.fromkeys(unknown, median_ms)
    if max(trips.values()) > DEEPEST:
        most = f"a round trip of at most {DEEPEST} ms without load"
        raise UserError.expected(f"{found.file}: results", most, f"{max(trips.values()):g} ms")
    return trips


def _rate(found: Result, down: bool) -> float:
    """The rate of a direction in Mbit/s.

    It is the larger of two means of the sum of its flows: while any flow ran, and while most flows ran. A flow that ran
    for part of the time counts for that part, so flows that alternate do not add up.
    """
    flows = found.flows(down)
    if not flows:
        return 0.0
    columns = [
        [level for level in levels if level is not None]
        for levels in zip(*(flow.levels() for flow in flows), strict=True)
    ]
    busy = [levels for levels in columns if levels]
    top = max(map(len, busy))
    most = [sum(levels) for levels in busy if len(levels) == top]
    rate = fmean(map(sum, busy))
    if len(most) >= TOGETHER * len(busy):
        rate = max(rate, fmean(most))
    means = sum(flow.mean for flow in flows)
    if abs(rate - means) > 0.1 * means:
        way = "downloads" if down else "uploads"
        had, sums = (_mbit(float(f"{each:.3g}")) for each in (rate, means))
        note(f"the {way} did not all overlap: together they reached {had}, but their means add up to {sums}")
    return rate


def _groups(found: Result, trips: dict[str, float], controllers: _Controllers) -> list[dict[str, Any]]:
    """The groups of a result: one per series that is a flow."""
    groups = [
        _group(each, found) | ({"tcp": tcp} if (tcp := controllers.of_one(each)) else {}) for each in found.transfers
    ]
    groups += [_group(each, found) | {"traffic": _datagrams(each, found)} for each in found.datagrams]
    groups += [_voice(found.voip)] if found.voip else []
    every = f"{1000 * found.step:.6g} ms"
    for each in found.probes:
        size = "60 B" if "udp" in each.words else "84 B"
        start = {"from": "home", "to": "provider", "traffic": {"kind": "ping", "every": every, "size": size}}
        groups.append({"name": each.name} | start | _marking(each))
    everything = [*found.transfers, *found.datagrams, *found.voip[:1], *found.probes]
    base, taken = min(trips.values()), dict[str, int]()
    for group, series in zip(groups, everything, strict=True):
        group["name"] = _free(_slug(group["name"]), taken)
        if trips[series.host] > base:
            # The link has the delay of the nearest host. Hosts farther away add the rest at their own end.
            end = "access" if group["from"] == "provider" else "egress"
            group[end] = {"delay": f"{(trips[series.host] - base) / 2:.6g} ms"}
    _note_names("netperf ran these the other way than their names say", filter(_is_misnamed, found.transfers))
    _note_names(
        "each of these counts as one transfer", (each for each in found.transfers if each.name.endswith(" sum"))
    )
    _note_names("these run as TCP flows", (each for each in found.transfers if each.name.startswith("SCTP")))
    return groups


def _group(series: Series, found: Result) -> dict[str, Any]:
    """A transfer or a stream of datagrams, from its first value to its last."""
    ends = ("provider", "home") if series.is_down else ("home", "provider")
    first, last = series.span
    x = found.x
    stop = {"stop": f"{max(x[last], x[first] + found.step):.6g} s"} if last < len(x) - 1 else {}
    times = {"start": f"{x[first]:.6g} s"} | stop
    return {"name": series.name, "from": ends[0], "to": ends[1]} | times | _marking(series)


def _marking(series: Series) -> dict[str, Any]:
    dscp = series.dscp()
    return {"dscp": codepoint_name(dscp)} if dscp else {}


def _datagrams(series: Series, found: Result) -> dict[str, Any]:
    """A UDP stream of iperf, whose rates count payload only."""
    given = found.parameter("udp_pktsize")
    payload = int(given) if given.isdecimal() and 0 < int(given) <= 65_000 else IPERF_PAYLOAD
    return {
        "kind": "cbr",
        "rate": _mbit(series.sent * (payload + UDP_IP) / payload),
        "size": f"{payload + UDP_IP} B",
    }


def _voice(voip: list[Series]) -> dict[str, Any]:
    """A VoIP call: D-ITG sends one way at its stated rate, irtt sends both directions."""
    first = voip[0]
    group = {"name": "voip", "from": "home", "to": "provider"} | _marking(first)
    rates = [each for each in voip if each.name == "VoIP::bitrate" and each.has_values]
    if not rates:
        return group | {"traffic": {"kind": "ping", "every": "20 ms", "size": f"{VOICE + UDP_IP} B"}}
    rate = rates[0].sent * (VOICE + UDP_IP) / VOICE / 1000
    return group | {"traffic": {"kind": "cbr", "rate": _mbit(rate), "size": f"{VOICE + UDP_IP} B"}}


def _is_misnamed(series: Series) -> bool:
    ways = {"upload", "download"} & set(series.words)
    return bool(ways) and ways != {"download" if series.is_down else "upload"}


class _Controllers:
    """The congestion controllers that a result names."""

    def __init__(self, found: Result) -> None:
        known = {each["name"] for each in json.loads(_sojourn.registry())["cc"]} - {"external", "linux"}
        self.known, self.others = known, set[str]()
        self.is_one: Callable[[str], bool] = (known | OTHERS | set(LINUX_NAMES)).__contains__
        self.of_test = (found.parameter("tcp_cong_control").partition(",")[0] or found.parameter("cc")).lower()
        local = table(found.metadata.get("SYSCTLS")).get("net.ipv4.tcp_congestion_control")
        self.of_host = local.lower() if isinstance(local, str) else ""

    def of_all(self, cc: str) -> dict[str, Any]:
        """The TCP options of flows without a named controller.

        The controller is that of the test's parameters, else `cc`.
        """
        return self._options(self.of_test) or {"control": {"cc": cc}}

    def of_one(self, series: Series) -> dict[str, Any]:
        """The TCP options of a transfer that names its controller.

        Also for a transfer whose host has a known default.
        """
        default = "" if series.is_down or self.of_test else self.of_host
        return self._options(series.controller(self.is_one) or default)

    def _options(self, name: str) -> dict[str, Any]:
        """The TCP options for a controller. Empty, with a note, if the simulator lacks it."""
        ours = LINUX_NAMES.get(name, name)
        if ours in self.known:
            ecn = {"prague": "l4s", "dctcp": True}.get(ours)  # both react to marks
            return ({"ecn": ecn} if ecn else {}) | {"control": {"cc": ours}}
        self.others |= {name} - {""}
        return {}

    def note_others(self, cc: str) -> None:
        """Issues notes on the congestion controllers that the simulator lacks."""
        if self.others:
            few = ", ".join(sorted(self.others)[:FEW])
            note(f"unknown congestion control {few}: its flows use {cc}")


def _data(file: Path) -> dict[str, Any]:
    """The data of a file, with the types of all used parts checked."""
    content = files.disk.read(file, MOST_BYTES)
    try:
        if content[:2] == b"\x1f\x8b":
            content = _unpacked(content)
        check_shape(content)
        data = json.loads(content)
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as error:
        raise UserError.expected(str(file), "a result of Flent (JSON, packed by gzip)", str(error)) from None
    wrong = _fault(data)
    if wrong:
        raise UserError(f"{file}: {wrong}")
    return dict(data)


def _unpacked(content: bytes) -> bytes:
    unpacker = zlib.decompressobj(wbits=31)
    text = unpacker.decompress(content, MOST_BYTES)
    if unpacker.unconsumed_tail or len(text) == MOST_BYTES:
        raise ValueError(f"more than {MOST_BYTES:,} bytes")
    if not unpacker.eof:
        raise ValueError("a file that ends too early")
    return text


def _brief(value: Any) -> str:
    """The beginning of a value as JSON; "none" if missing."""
    return "none" if value is None else json.dumps(value)[:40]


def _fault(data: Any) -> str | None:
    """The error in the data outside its series; None if it is valid."""
    if not isinstance(data, dict):
        return f"expected a table, got {_brief(data)}"
    for key, kind, what in (("metadata", dict, "a table"), ("x_values", list, "a list"), ("results", dict, "a table")):
        if not isinstance(data.get(key), kind):
            return f"{key}: expected {what}, got {_brief(data.get(key))}"
    x, step = data["x_values"], data["metadata"].get("STEP_SIZE")
    if len(x) < 2 or not all(is_number(value) for value in x) or any(b <= a for a, b in pairwise(x)) or x[0] < 0:
        return "x_values: expected two or more rising times from 0 s on, got others"
    if is_number(step) and not math.isclose(x[1] - x[0], step, rel_tol=0.01):
        # Flent's iterated tests and its combinations have run numbers there.
        return f"x_values: expected times in steps of STEP_SIZE, {step:g} s, got {x[1] - x[0]:g} s"
    return None


def _wrong(name: str, series: Any, x: list[float]) -> str | None:
    """The error in a series; None if it is valid."""
    if not isinstance(series, list) or len(series) != len(x):
        return f"results.{name}: expected a list of {len(x)} values, got another"
    if not all(value is None or (is_number(value) and value >= 0) for value in series):
        return f"results.{name}: expected numbers of 0 or more, or null, got others"
    return None


def _slug(name: str) -> str:
    """A group name made from a series' name: "TCP upload BE" becomes "tcp-upload-be"."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _free(name: str, taken: dict[str, int]) -> str:
    """Reserves the name, or the next free one with a number."""
    free = name
    while free in taken:
        taken[name] += 1
        free = f"{name}-{taken[name]}"
    taken[free] = 1
    return free


def _mbit(rate: float) -> str:
    return f"{max(rate, 0.001):.6g} Mbit/s"
