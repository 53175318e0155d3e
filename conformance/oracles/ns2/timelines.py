"""What flows of ns-2 send and lose, packet by packet.

Averages over a run forgive much. Here nothing is drawn. First nothing queues either: a flow over a fast link loses the
transmissions of a list, and the order of all packets that it sends is written down (`timelines`). Then several flows
share a small buffer, and the order of all packets that it drops is written down (`crowds`).
`crates/sim/tests/timelines.rs` plays the same and takes nothing but the same order.

The delay is such that neither the least timeout (200 ms) nor a whole number of milliseconds meets the arrival of an
acknowledgement: what happens first at one instant is ns-2's floating-point sums' to say. The crowds, too, are such in
which these sums never decide: others go other ways after some tens of losses.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from . import measure

STORED = Path(__file__).parent / "stored"
COMMAND = "python -m conformance.oracles.ns2.timelines"
_LINUX = "$tcp set timestamps_ true; $tcp set syn_ false; $tcp set tcpip_base_hdr_size_ 30; $tcp select_ca"
_CLASSIC = "$tcp set tcpTick_ 0.0001"  # where in its tick the clock stands is drawn: a fine one
AGENTS = {
    "reno": ("Agent/TCP/Reno", "Agent/TCPSink", _CLASSIC),
    "newreno": ("Agent/TCP/Newreno", "Agent/TCPSink", _CLASSIC),
    "sack1": ("Agent/TCP/Sack1", "Agent/TCPSink/Sack1", _CLASSIC),
    "linux-reno": ("Agent/TCP/Linux", "Agent/TCPSink/Sack1", f"{_LINUX} reno"),
    "linux-lp": ("Agent/TCP/Linux", "Agent/TCPSink/Sack1", f"{_LINUX} lp"),
    "linux-cubic": ("Agent/TCP/Linux", "Agent/TCPSink/Sack1", f"{_LINUX} cubic"),
}
_EXACT = ["reno", "newreno", "sack1", "linux-reno"]
# Agent, loss ratio, seconds, seed of the list. Two agents differ by an ACK's time after some hundred losses, and fewer
# lists are kept of them: CUBIC of TCP-Linux takes cube roots that are a thousandth off, and its TCP-LP reads
# delays in whole milliseconds, which rounding makes one more or one less.
TIMELINES = [
    *((agent, ratio, 60, seed) for agent in _EXACT for seed, ratio in enumerate((0.003, 0.02))),
    *((agent, 0.06, 100, 2) for agent in _EXACT),
    ("linux-cubic", 0.005, 60, 3),
    ("linux-cubic", 0.02, 60, 4),
    ("linux-cubic", 0.06, 60, 5),
    ("linux-lp", 0.02, 60, 1),
    ("linux-lp", 0.06, 100, 2),
]

_INSTANT = 1_000_000_000_000_000  # bit/s
# Agent, when its flows start in us, rate of the link that they share and of their own in bit/s, packets that may wait.
# Those of TCP-Linux start while the link is idle, and 40 bytes of it later: their first packet has no header.
_TWO, _THREE = [1_000, 17_100], [1_000, 17_100, 32_300]
_FOUR = [111_100, 333_378, 555_570, 811_000]
_EIGHT = [3_000, 26_700, 77_800, 156_300, 262_200, 395_500, 556_200, 744_300]
CROWDS = [
    *((agent, _EIGHT, 5_000_000, 10_030_000, 8) for agent in ("reno", "newreno", "sack1")),
    *((agent, _FOUR, 1_700_000, 10_030_000, 4) for agent in ("reno", "newreno", "sack1")),
    ("reno", _FOUR[:2], 5_000_000, 10_030_000, 2),
    ("newreno", _FOUR[:2], 5_000_000, 10_030_000, 3),
    ("sack1", _EIGHT, 5_000_000, 10_030_000, 12),
    ("sack1", _FOUR, 2_500_000, 20_300_000, 6),
    ("linux-reno", _TWO, 5_000_000, _INSTANT, 20),
    ("linux-reno", _THREE, 5_000_000, _INSTANT, 8),
    ("linux-reno", _THREE, 5_000_000, _INSTANT, 20),
    ("linux-cubic", _TWO[:1], 5_000_000, _INSTANT, 20),
    ("linux-cubic", _TWO, 5_000_000, _INSTANT, 20),
]
_CROWD_SECONDS = 40


def losses(ratio: float, seconds: int, seed: int) -> list[int]:
    """Which transmissions are lost, counted from 0; none in the first round trips."""
    draw = random.Random(seed)
    return [number for number in range(20, seconds * 1000) if draw.random() < ratio]


def script(agent: str, seconds: int, lost: list[int], trace: Path) -> str:
    """The Tcl; `trace` is the file that ns-2 writes what enters the link to."""
    kind, sink, settings = AGENTS[agent]
    # TCP-Linux sends its first packet without a header: 40 bytes, or 3.2 us, less.
    start = 0.0000402 if "Linux" in kind else 0.000037
    return f"""
set ns [new Simulator]
set a [$ns node]
set b [$ns node]
$ns simplex-link $a $b 100Mb 53.37ms DropTail
$ns simplex-link $b $a 1000000Mb 53.37ms DropTail
$ns queue-limit $a $b 1000000
$ns queue-limit $b $a 1000000
set errors [new ErrorModel/List]
$errors droplist {{{" ".join(map(str, lost))}}}
$errors drop-target [new Agent/Null]
$ns lossmodel $errors $a $b
set tcp [new {kind}]
foreach {{name value}} {{packetSize_ 1460 tcpip_base_hdr_size_ 40 window_ 100000}} {{ $tcp set $name $value }}
set sink [new {sink}]
$sink set packetSize_ 40
$ns attach-agent $a $tcp
$ns attach-agent $b $sink
$ns connect $tcp $sink
{settings}
$ns trace-queue $a $b [open {trace} w]
$ns at {start} "$tcp send -1"
$ns at {seconds} "exit 0"
$ns run
"""


def crowd_script(agent: str, starts: list[int], rate: int, access: int, limit: int, trace: Path) -> str:
    """The Tcl of flows that share a link, each with links of its own at either end."""
    kind, sink, settings = AGENTS[agent]
    linux = "Linux" in kind
    mss, window, late = (1460, 100_000, 320 / rate) if linux else (1000, 128, 0.0)
    lines = [
        "set ns [new Simulator]",
        "set a [$ns node]; set b [$ns node]",
        f"$ns duplex-link $a $b {rate} 20ms DropTail",
        f"$ns queue-limit $a $b {limit + 1}",  # DropTail refuses what would make the queue reach it
        "$ns queue-limit $b $a 1000",
    ]
    for start in starts:
        lines += [
            "set from [$ns node]; set to [$ns node]",
            f"$ns duplex-link $from $a {access} 2.37ms DropTail; $ns duplex-link $b $to {access} 4ms DropTail",
            "foreach {x y} [list $from $a $a $from $b $to $to $b] { $ns queue-limit $x $y 1000000 }",
            f"set tcp [new {kind}]; set sink [new {sink}]; $sink set packetSize_ 40",
            f"$tcp set packetSize_ {mss}; $tcp set window_ {window}; $tcp set fid_ [incr flow]; {settings}",
            *([] if linux else ["$tcp set singledup_ 1; $tcp set minrto_ 1.0; $tcp set rtxcur_init_ 6.0"]),
            "$ns attach-agent $from $tcp; $ns attach-agent $to $sink; $ns connect $tcp $sink",
            f'$ns at {start / 1e6 + late:.9f} "$tcp send -1"',
        ]
    lines += [f"$ns trace-queue $a $b [open {trace} w]", f'$ns at {_CROWD_SECONDS} "exit 0"', "$ns run"]
    return "\n".join(lines) + "\n"


def events(what: str, text: Callable[[Path], str]) -> list[list[str]]:
    """The words of each line that a script of ns-2 traces. Raises `measure.OracleError` where it fails."""
    with tempfile.TemporaryDirectory() as folder:
        file, trace = Path(folder) / "run.tcl", Path(folder) / "trace"
        file.write_text(text(trace))
        done = subprocess.run(["ns", str(file)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise measure.OracleError(f"{what}: ns-2 says {done.stderr.strip()[-500:]}")
        return [line.split() for line in trace.read_text().splitlines()]


def run(agent: str, seconds: int, lost: list[int]) -> list[int]:
    """The packets that ns-2 sends, in order."""
    traced = events(agent, lambda trace: script(agent, seconds, lost, trace))
    return [int(event[10]) for event in traced if event[0] == "+" and event[4] == "tcp"]


def run_crowd(agent: str, starts: list[int], rate: int, access: int, limit: int) -> list[str]:
    """The packets that ns-2 drops, in order, as "flow:packet"."""
    traced = events(agent, lambda trace: crowd_script(agent, starts, rate, access, limit, trace))
    return [f"{int(event[7]) - 1}:{event[10]}" for event in traced if event[0] == "d"]


def ranges(numbers: list[int]) -> str:
    """3 4 5 4 6 as "3-5 4 6"."""
    words: list[list[int]] = []
    for number in numbers:
        if words and number == words[-1][-1] + 1:
            words[-1] = [words[-1][0], number]
        else:
            words.append([number])
    return " ".join("-".join(map(str, word)) for word in words)


def main() -> int:
    """Writes all timelines anew; returns the exit code."""
    what = "Writes what ns-2.35 sends where given packets are lost, and loses where flows share a buffer."
    parser = argparse.ArgumentParser(prog=COMMAND, description=what)
    parser.parse_args()
    if not measure.available():
        print("ns-2 is not here: apt-get install ns2", file=sys.stderr)
        return 2
    for folder in ("timelines", "crowds"):
        (STORED / folder).mkdir(parents=True, exist_ok=True)
    for agent, ratio, seconds, seed in TIMELINES:
        lost = losses(ratio, seconds, seed)
        sent = run(agent, seconds, lost)
        lost = [number for number in lost if number < len(sent)]
        lines = [f"# {measure.version()}, {COMMAND}", f"agent {agent}", f"seconds {seconds}"]
        lines += [f"lost {' '.join(map(str, lost))}", f"sent {ranges(sent)}"]
        (STORED / "timelines" / f"{agent}-{ratio}.txt").write_text("\n".join(lines) + "\n")
        print(f"{agent}, {ratio:.1%} lost: {len(sent)} packets, {len(lost)} of them lost")
    for agent, starts, rate, access, limit in CROWDS:
        dropped = run_crowd(agent, starts, rate, access, limit)
        lines = [f"# {measure.version()}, {COMMAND}", f"agent {agent}", f"seconds {_CROWD_SECONDS}", f"rate {rate}"]
        lines += [f"access {access}", f"limit {limit}"]
        lines += [f"starts {' '.join(map(str, starts))}", f"lost {' '.join(dropped)}"]
        (STORED / "crowds" / f"{agent}-{len(starts)}-{rate // 1000}-{limit}.txt").write_text("\n".join(lines) + "\n")
        print(f"{agent}, {len(starts)} flows at {rate / 1e6} Mbit/s: {len(dropped)} lost")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
