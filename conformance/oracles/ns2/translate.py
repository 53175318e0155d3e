"""A frozen scenario as a Tcl script for ns-2.35; `measure` reads its output.

Differences of ns-2.35, and how the script compensates for them:

- `packetSize_` is the payload; the TCP agents add `tcpip_base_hdr_size_` (40 bytes) on the wire.
- `window_` is both the receive window and the first ssthresh.
- FTP over one-way agents opens with a SYN of 40 bytes that counts as packet 0.
- Access links have queues too: their limit is a million packets, so that nothing is lost there.
- `profile = "ns2-linux"` is Agent/TCP/Linux with timestamps and `select_ca` reno, cubic (v2.1) or lp; its sink Sack1.
- The module lp prints a line for each ACK on standard output: there the script writes to standard error.
- A WebTraf client sends a request packet, over a connection of its own, before the server answers.
- The default random generator is seeded once per run, from the scenario's `seed`.

`python -m conformance.oracles.ns2.translate CASE.toml [--seed N]` prints the script.
"""

from __future__ import annotations

import argparse
import tomllib
from pathlib import Path
from typing import Any

from .plan import Flow, Link, Plan, Table, freeze, lay_out
from .quantities import FieldError, rate_bps, size_bytes, time_ns
from .queues import Queue, queue, seconds

_INSTANT = "1000000000000000"  # bit/s where a link has no rate: 8 fs a kilobyte
_AGENTS = {
    "tahoe": "Agent/TCP",
    "reno": "Agent/TCP/Reno",
    "newreno": "Agent/TCP/Newreno",
    "sack": "Agent/TCP/Sack1",
}
_TIMESTAMPS = 10  # ns-2.35: Agent/TCP set ts_option_size_
_MODULES: dict[str, Table] = {
    "reno": {"cc": "reno"},
    "cubic": {"cc": "cubic", "version": "2.1"},
    "lp": {"cc": "tcp-lp", "variant": "linux"},
}
_WHOLE: Table = {"cc": "reno", "whole": True}
_TCP = {"profile", "control", "recovery", "mss", "header", "window", "delayed_ack", "ecn"}
_TCP |= {"handshake", "initial_ssthresh"}
_TIMES = {"min_rto": "minrto_", "max_rto": "maxrto_", "initial_rto": "rtxcur_init_", "tick": "tcpTick_"}
_COUNTS = {"initial_window": "windowInit_", "dupack_threshold": "numdupacks_", "limited_transmit": "singledup_"}
_WEB = {"kind", "page_gap", "objects", "object_gap", "object_mean", "object_shape", "pages", "loop", "request"}
_MTU = 65000  # a UDP agent cuts what is larger than its packetSize_

_PRELUDE = """\
set ns [new Simulator]
$defaultRNG seed {seed}

# One direction of a link. The variables are set after it is made, and read again when the run resets the queue.
proc link {{i a b rate delay kind variables}} {{
    global ns n queue
    $ns simplex-link $n($a) $n($b) $rate $delay $kind
    set queue($i) [[$ns link $n($a) $n($b)] queue]
    foreach {{name value}} $variables {{ $queue($i) set $name $value }}
}}

# Counters and integrals of the queue: what waits, without the packet being sent.
proc watch {{i a b}} {{
    global ns n mon
    set mon($i) [$ns monitor-queue $n($a) $n($b) 0]
    $mon($i) set-src-dst $i $i
}}

proc tcp {{i a b kind sink settings sink_settings}} {{
    global ns n agent received
    set agent($i) [new $kind]
    set received($i) [new $sink]
    foreach {{name value}} $settings {{ $agent($i) set $name $value }}
    foreach {{name value}} $sink_settings {{ $received($i) set $name $value }}
    $ns attach-agent $n($a) $agent($i)
    $ns attach-agent $n($b) $received($i)
    $ns connect $agent($i) $received($i)
    $agent($i) set fid_ $i
}}

proc udp {{i a b kind settings}} {{
    global ns n agent received app
    set agent($i) [new Agent/UDP]
    set received($i) [new Agent/LossMonitor]
    $agent($i) set packetSize_ {mtu}
    $ns attach-agent $n($a) $agent($i)
    $ns attach-agent $n($b) $received($i)
    $ns connect $agent($i) $received($i)
    $agent($i) set fid_ $i
    set app($i) [new $kind]
    foreach {{name value}} $settings {{ $app($i) set $name $value }}
    $app($i) attach-agent $agent($i)
}}

# Pages of objects from node a to a client at node b, a connection of its own for each object. A pool's agents are made
# while it runs, with the class's settings. `closed`: the gap begins when a page is complete, as in 2.35 by default.
proc web {{i a b type sink settings sink_settings at pages gap objects object_gap mean shape closed}} {{
    global n pool
    PagePool/WebTraf set TCPTYPE_ $type
    PagePool/WebTraf set TCPSINKTYPE_ $sink
    foreach {{name value}} $settings {{ Agent/TCP set $name $value }}
    foreach {{name value}} $sink_settings {{ Agent/$sink set $name $value }}
    set between [new RandomVariable/Exponential]
    $between set avg_ $gap
    set size [new RandomVariable/Constant]
    $size set val_ $objects
    set inside [new RandomVariable/Exponential]
    $inside set avg_ $object_gap
    set object [new RandomVariable/ParetoII]
    $object set avg_ $mean
    $object set shape_ $shape
    set pool($i) [new PagePool/WebTraf]
    $pool($i) set-num-client 1
    $pool($i) set-num-server 1
    $pool($i) set-client 0 $n($b)
    $pool($i) set-server 0 $n($a)
    $pool($i) set-num-session 1
    $pool($i) create-session 0 $pages $at $between $size $inside $object
    $pool($i) set-interPageOption $closed
}}

# Writes the probability (percent) of the PI queue `q_` every `step` seconds from the queue and its change.
proc periodic {{q_ counted percent step {{last 0.0}}}} {{
    global ns mon
    set q [expr $counted]
    set dq [expr {{$q - $last}}]
    set p [expr ($percent) / 100.0]
    $q_ set prob_ [expr {{$p < 0.0 ? 0.0 : ($p > 1.0 ? 1.0 : $p)}}]
    $ns at [expr {{[$ns now] + $step}}] [list periodic $q_ $counted $percent $step $q]
}}

# The counters are 32 bits wide and wrap: only their differences mean something.
proc snapshot {{}} {{
    global ns mon received
    foreach i [lsort -integer [array names mon]] {{
        set m $mon($i)
        set integral [$m get-pkts-integrator]
        $integral newpoint [$ns now] [$integral set lasty_]
        puts {to}"L $i [$ns now] [$m set parrivals_] [$m set pdepartures_] [$m set bdepartures_] [$m set pdrops_]\\
            [$m set pmarks_] [$m set pkts_] [$m set size_] [$integral set sum_]"
    }}
    foreach i [lsort -integer [array names received]] {{ puts {to}"F $i [$received($i) set bytes_]" }}
}}
"""


def _pairs(settings: list[tuple[str, str]] | tuple[tuple[str, str], ...]) -> str:
    return "{" + " ".join(f"{name} {value}" for name, value in settings) + "}"


def _rate(rate: float | None) -> str:
    return _INSTANT if rate is None else f"{rate:.0f}"


def _link_lines(plan: Plan) -> tuple[list[str], list[str]]:
    """Lines that make the links, and lines that start the periodic laws afterwards."""
    lines, laws = [], []
    index = {name: i for i, name in enumerate(plan.nodes)}
    for i, link in enumerate(plan.links):
        made: Queue = queue(link.queue, f"links.{link.name}.queue", plan.packet)
        a, b = index[link.src], index[link.dst]
        settings = _pairs(made.variables)
        lines.append(f"link {i} {a} {b} {_rate(link.rate)} {seconds(link.delay)} {made.kind} {settings} ;# {link.name}")
        if link.measured or made.law:
            lines.append(f"watch {i} {a} {b}")
        for at, rate in link.changes:
            target = f"[[$ns link $n({a}) $n({b})] link]"
            lines.append(f"$ns at {seconds(at)} {{{target} set bandwidth_ {_rate(rate)}}}")
        if made.law:
            laws += [made.helper] if made.helper else []
            law = made.law.replace("%d", str(i)).replace("%r", _rate(link.rate))
            laws.append(f"$ns at 0.0 [list {law}]")
    return lines, laws


def _need(table: Table, key: str, where: str) -> Any:
    if key not in table:
        raise FieldError(f"{where}.{key}", None, "a value: it has no default")
    return table[key]


def _window(value: Any, mss: int, where: str) -> int:
    if isinstance(value, str) and value.split()[-1].startswith("packet"):
        return int(float(value.split()[0]))
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return size_bytes(value, where) // mss


def _tcp_settings(flow: Flow) -> tuple[str, str, list[tuple[str, str]], list[tuple[str, str]]]:
    """Agent class, sink class and their variables."""
    tcp, where = flow.tcp, f"flows.{flow.group}.tcp"
    for key in tcp:
        if key not in _TCP and key not in _TIMES and key not in _COUNTS:
            raise FieldError(f"{where}.{key}", tcp[key], "one of " + ", ".join([*_TCP, *_TIMES, *_COUNTS]) + " in ns-2")
    if tcp.get("profile") not in ("ns2", "ns2-linux"):
        raise FieldError(f"{where}.profile", tcp.get("profile"), '"ns2" or "ns2-linux"')
    linux = tcp["profile"] == "ns2-linux"
    if linux:
        tcp = {"recovery": "sack"} | tcp
        _module(flow)
    elif tcp.get("control", _MODULES["reno"]) not in (_MODULES["reno"], _WHOLE):
        expected = '{ cc = "reno" }, with `whole` or without, or the profile "ns2-linux"'
        raise FieldError(f"{where}.control", tcp["control"], expected)
    if linux and tcp["recovery"] != "sack":
        raise FieldError(f"{where}.recovery", tcp["recovery"], '"sack" with the profile "ns2-linux"')
    if tcp.get("recovery") not in _AGENTS:
        raise FieldError(f"{where}.recovery", tcp.get("recovery"), ", ".join(_AGENTS))
    if tcp.get("handshake", "oneway") != "oneway":
        raise FieldError(f"{where}.handshake", tcp["handshake"], '"oneway" in ns-2')
    mss, header = size_bytes(tcp.get("mss", "1000 B"), f"{where}.mss"), size_bytes(tcp.get("header", "40 B"), where)
    settings = [
        ("packetSize_", str(mss)),
        # The agent adds `ts_option_size_` to the size of a segment with timestamps.
        ("tcpip_base_hdr_size_", str(header - (_TIMESTAMPS if linux else 0))),
        ("window_", str(_window(tcp.get("window", "20 packets"), mss, f"{where}.window"))),
        ("ecn_", "1" if tcp.get("ecn", False) else "0"),
    ]
    settings += [("precisionReduce_", "false")] if tcp.get("control") == _WHOLE else []
    settings += [(name, seconds(time_ns(tcp[key], f"{where}.{key}"))) for key, name in _TIMES.items() if key in tcp]
    settings += [(name, str(int(tcp[key]))) for key, name in _COUNTS.items() if key in tcp]
    delayed = tcp.get("delayed_ack", False)
    sink = "Agent/TCPSink" + ("/Sack1" if tcp["recovery"] == "sack" else "") + ("" if delayed is False else "/DelAck")
    sink_settings = [("packetSize_", str(header))]
    if delayed is not False:
        wait = "100 ms" if delayed is True else delayed
        sink_settings.append(("interval_", seconds(time_ns(wait, f"{where}.delayed_ack"))))
    return "Agent/TCP/Linux" if linux else _AGENTS[tcp["recovery"]], sink, settings, sink_settings


def _module(flow: Flow) -> str:
    """The name of the congestion module that a flow over Agent/TCP/Linux selects."""
    control = flow.tcp.get("control", _MODULES["reno"])
    for name, known in _MODULES.items():
        if control == known:
            return name
    expected = " or ".join(str(known) for known in _MODULES.values())
    raise FieldError(f"flows.{flow.group}.tcp.control", control, expected)


def _threshold(flow: Flow) -> int | None:
    """The initial ssthresh in segments, or None if it is the window, as in ns-2 by default."""
    if "initial_ssthresh" not in flow.tcp:
        return None
    mss, where = size_bytes(flow.tcp.get("mss", "1000 B"), "tcp.mss"), f"flows.{flow.group}.tcp"
    threshold = _window(flow.tcp["initial_ssthresh"], mss, f"{where}.initial_ssthresh")
    return None if threshold == _window(flow.tcp.get("window", "20 packets"), mss, f"{where}.window") else threshold


def _udp_settings(flow: Flow) -> tuple[str, list[tuple[str, str]]]:
    """Application class and its variables.

    Sizes are those on the wire: ns-2 adds no header to UDP.
    """
    traffic, where = flow.traffic, f"flows.{flow.group}.traffic"
    kind, allowed = traffic["kind"], {"kind", "transport", "rate", "size"}
    allowed |= {"jitter"} if kind == "cbr" else {"on", "off", "shape"}
    for key in traffic:
        if key not in allowed:
            raise FieldError(f"{where}.{key}", traffic[key], "one of " + ", ".join(sorted(allowed)))
    if traffic.get("transport", "udp") != "udp":
        raise FieldError(f"{where}.transport", traffic["transport"], '"udp" in ns-2')
    settings = [
        ("rate_", f"{rate_bps(_need(traffic, 'rate', where), f'{where}.rate'):.0f}"),
        ("packetSize_", str(size_bytes(traffic.get("size", "1000 B"), f"{where}.size"))),
    ]
    if kind == "cbr":
        jitter = traffic.get("jitter", 0)
        if jitter not in (0, 1):
            raise FieldError(f"{where}.jitter", jitter, "0, or 1 (ns-2's random_: half a gap either way)")
        return "Application/Traffic/CBR", [*settings, ("random_", str(int(jitter)))]
    settings.append(("burst_time_", seconds(time_ns(_need(traffic, "on", where), f"{where}.on"))))
    settings.append(("idle_time_", seconds(time_ns(_need(traffic, "off", where), f"{where}.off"))))
    if "shape" not in traffic:
        return "Application/Traffic/Exponential", settings
    return "Application/Traffic/Pareto", [*settings, ("shape_", repr(float(traffic["shape"])))]


def _web_words(flow: Flow) -> list[str]:
    """The arguments of the script's procedure `web`. Sizes are in packets."""
    traffic, where = flow.traffic, f"flows.{flow.group}.traffic"
    for key in traffic:
        if key not in _WEB:
            raise FieldError(f"{where}.{key}", traffic[key], "one of " + ", ".join(sorted(_WEB)))
    if flow.stop is not None:
        raise FieldError(f"flows.{flow.group}.stop", flow.stop, "nothing for web in ns-2")
    mss = size_bytes(flow.tcp.get("mss", "1000 B"), f"flows.{flow.group}.tcp.mss")
    if "request" in traffic and size_bytes(traffic["request"], f"{where}.request") != mss:
        raise FieldError(f"{where}.request", traffic["request"], f"one full segment, {mss} B, in ns-2")
    if _threshold(flow) is not None:
        raise FieldError(
            f"flows.{flow.group}.tcp.initial_ssthresh", flow.tcp["initial_ssthresh"], "window for web in ns-2"
        )
    agent, sink, settings, sink_settings = _tcp_settings(flow)
    if agent == _AGENTS["tahoe"]:
        raise FieldError(f"flows.{flow.group}.tcp.recovery", "tahoe", "reno, newreno or sack for web in ns-2")
    loop = traffic.get("loop", "open")
    if loop not in ("open", "closed"):
        raise FieldError(f"{where}.loop", loop, '"open" or "closed"')
    return [
        agent.removeprefix("Agent/TCP/"),
        sink.removeprefix("Agent/"),
        _pairs(settings),
        _pairs(sink_settings),
        seconds(flow.start),
        str(traffic.get("pages", 1_000_000)),
        seconds(time_ns(_need(traffic, "page_gap", where), f"{where}.page_gap")),
        str(int(traffic.get("objects", 1))),
        seconds(time_ns(traffic.get("object_gap", "0 s"), f"{where}.object_gap")),
        repr(float(_need(traffic, "object_mean", where))),
        repr(float(_need(traffic, "object_shape", where))),
        "1" if loop == "closed" else "0",
    ]


def _flow_lines(plan: Plan) -> list[str]:
    lines = []
    index = {name: i for i, name in enumerate(plan.nodes)}
    for i, flow in enumerate(plan.flows):
        kind, where = flow.traffic.get("kind"), f"flows.{flow.group}.traffic"
        a, b, at = index[flow.src], index[flow.dst], seconds(flow.start)
        if kind == "bulk":
            agent, sink, settings, sink_settings = _tcp_settings(flow)
            size = flow.traffic.get("size")
            amount = -1 if size is None else size_bytes(size, f"{where}.size")
            lines.append(f"tcp {i} {a} {b} {agent} {sink} {_pairs(settings)} {_pairs(sink_settings)} ;# {flow.name}")
            if agent == "Agent/TCP/Linux":
                lines.append(f"$agent({i}) set timestamps_ true")
                lines.append(f"$agent({i}) select_ca {_module(flow)}")
            lines.append(f'$ns at {at} "$agent({i}) send {amount}"')
            threshold = _threshold(flow)
            if threshold is not None:  # the run begins with a reset that makes it the window
                lines.append(f'$ns at 0.0 "$agent({i}) set ssthresh_ {threshold}"')
            stop = f"$agent({i}) advance 0; $agent({i}) close"
        elif kind in ("cbr", "onoff"):
            application, settings = _udp_settings(flow)
            lines.append(f"udp {i} {a} {b} {application} {_pairs(settings)} ;# {flow.name}")
            lines.append(f'$ns at {at} "$app({i}) start"')
            stop = f"$app({i}) stop"
        elif kind == "web":
            lines.append(f"web {i} {a} {b} {' '.join(_web_words(flow))} ;# {flow.name}")
            continue
        else:
            raise FieldError(f"{where}.kind", kind, "bulk, cbr, onoff or web in ns-2")
        if flow.stop is not None and flow.stop < plan.duration:
            lines.append(f'$ns at {seconds(flow.stop)} "{stop}"')
    return lines


def measured(plan: Plan) -> list[tuple[int, Link]]:
    """The links whose queue is traced packet by packet, with their numbers in the script."""
    return [(i, link) for i, link in enumerate(plan.links) if link.measured]


def channel(plan: Plan) -> str:
    """The script's output channel: "stdout", or "stderr" if a congestion module uses stdout."""
    printing = any(flow.tcp.get("control") == _MODULES["lp"] for flow in plan.flows)
    return "stderr" if printing else "stdout"


def script(plan: Plan, seed: int) -> str:
    """The Tcl text of a plan. Raises `FieldError` for settings that ns-2 can't simulate."""
    out = channel(plan)
    to = "" if out == "stdout" else f"{out} "
    lines = [f"# {plan.name}, seed {seed}", _PRELUDE.format(seed=seed, mtu=_MTU, to=to)]
    lines += [f"set n({i}) [$ns node] ;# {name}" for i, name in enumerate(plan.nodes)]
    links, laws = _link_lines(plan)
    lines += links + laws + _flow_lines(plan)
    follow = "; ".join(f"$mon({i}) trace {out}" for i, _ in measured(plan))
    lines.append(f"fconfigure {out} -buffering full -buffersize 65536")
    lines.append(f"$ns at {seconds(plan.warmup)} {{snapshot; {follow}}}")
    lines.append(f"$ns at {seconds(plan.duration)} {{snapshot; flush {out}; exit 0}}")
    lines.append("$ns run")
    return "\n".join(lines) + "\n"


def translate(scenario: Table, seed: int) -> str:
    """The Tcl text of a scenario table (parsed TOML) for one seed. Raises `FieldError`."""
    return script(lay_out(freeze(scenario, seed)), seed)


def main() -> None:
    """Prints the script of one scenario file."""
    parser = argparse.ArgumentParser(description="A Sojourn scenario as Tcl for ns-2.35.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    print(translate(tomllib.loads(arguments.file.read_text()), arguments.seed), end="")


if __name__ == "__main__":
    main()
