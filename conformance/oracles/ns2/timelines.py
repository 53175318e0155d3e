"""Records which packets flows of ns-2 send and lose, in order.

Averages over a run hide many differences, so these runs have no random numbers. In `timelines` nothing queues either:
a flow on a fast link loses the transmissions of a list, and all packets that it sends are recorded. In
`shared-buffer` several flows share a small buffer, and all packets that it drops are recorded.
`crates/sim/tests/timelines.rs` repeats these runs and expects exactly the same order.

The delay is chosen so that no ACK arrives at the time of the least timeout (200 ms) or of a whole number of
milliseconds: in ns-2 the rounding of floating-point numbers decides the order of simultaneous events. The runs of
`shared-buffer` are also chosen so that rounding never decides; others differ after some tens of losses.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import measure

STORED = Path(__file__).parent / "stored"
COMMAND = "python -m conformance.oracles.ns2.timelines"
_LINUX = "$tcp set timestamps_ true; $tcp set syn_ false; $tcp set tcpip_base_hdr_size_ 30; $tcp select_ca"
_CLASSIC = "$tcp set tcpTick_ 0.0001"  # the phase of the clock tick is random: a fine tick makes it negligible
AGENTS = {
    "reno": ("Agent/TCP/Reno", "Agent/TCPSink", _CLASSIC),
    "newreno": ("Agent/TCP/Newreno", "Agent/TCPSink", _CLASSIC),
    "tahoe": ("Agent/TCP", "Agent/TCPSink", _CLASSIC),
    "sack1": ("Agent/TCP/Sack1", "Agent/TCPSink/Sack1", _CLASSIC),
    "linux-reno": ("Agent/TCP/Linux", "Agent/TCPSink/Sack1", f"{_LINUX} reno"),
    "linux-lp": ("Agent/TCP/Linux", "Agent/TCPSink/Sack1", f"{_LINUX} lp"),
    "linux-cubic": ("Agent/TCP/Linux", "Agent/TCPSink/Sack1", f"{_LINUX} cubic"),
}
_EXACT = ["reno", "newreno", "tahoe", "sack1", "linux-reno"]
# Agent, loss ratio, seconds, seed of the list. Two agents have fewer lists because they differ by one ACK after some
# hundred losses: CUBIC of TCP-Linux computes cube roots with an error of a thousandth, and its TCP-LP reads delays in
# whole milliseconds, which rounding can change by one.
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
_TWO, _THREE = [1_000, 17_100], [1_000, 17_100, 32_300]
_FOUR = [111_100, 333_378, 555_570, 811_000]
_EIGHT = [3_000, 26_700, 77_800, 156_300, 262_200, 395_500, 556_200, 744_300]


@dataclass(frozen=True)
class SharedBuffer:
    """Flows that share a link.

    Starts are in us, rates of the link and of the flows' own links in bit/s, the limit in packets. Flows of TCP-Linux
    start while the link is idle, and 40 bytes later: their first packet has no header.
    """

    agent: str
    starts: list[int]
    rate: int
    access: int
    limit: int


SHARED_BUFFERS = [
    *(SharedBuffer(agent, _EIGHT, 5_000_000, 10_030_000, 8) for agent in ("reno", "newreno", "tahoe", "sack1")),
    *(SharedBuffer(agent, _FOUR, 1_700_000, 10_030_000, 4) for agent in ("reno", "newreno", "sack1")),
    SharedBuffer("tahoe", _FOUR, 1_830_000, 10_030_000, 5),
    SharedBuffer("tahoe", _FOUR, 2_500_000, 10_030_000, 6),
    SharedBuffer("reno", _FOUR[:2], 5_000_000, 10_030_000, 2),
    SharedBuffer("newreno", _FOUR[:2], 5_000_000, 10_030_000, 3),
    SharedBuffer("sack1", _EIGHT, 5_000_000, 10_030_000, 12),
    SharedBuffer("sack1", _FOUR, 2_500_000, 20_300_000, 6),
    SharedBuffer("linux-reno", _TWO, 5_000_000, _INSTANT, 20),
    SharedBuffer("linux-reno", _THREE, 5_000_000, _INSTANT, 8),
    SharedBuffer("linux-reno", _THREE, 5_000_000, _INSTANT, 20),
    SharedBuffer("linux-cubic", _TWO[:1], 5_000_000, _INSTANT, 20),
    SharedBuffer("linux-cubic", _TWO, 5_000_000, _INSTANT, 20),
]
_SHARED_SECONDS = 40


def losses(ratio: float, seconds: int, seed: int) -> list[int]:
    """The lost transmissions, counted from 0; none of the first 20."""
    draw = random.Random(seed)
    return [number for number in range(20, seconds * 1000) if draw.random() < ratio]


def script(agent: str, seconds: int, lost: list[int], trace: Path) -> str:
    """The Tcl script; ns-2 writes the packets that enter the link to the file `trace`."""
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


def shared_script(case: SharedBuffer, trace: Path) -> str:
    """The Tcl script of flows that share a link, each with its own link at both ends."""
    kind, sink, settings = AGENTS[case.agent]
    linux = "Linux" in kind
    mss, window, late = (1460, 100_000, 320 / case.rate) if linux else (1000, 128, 0.0)
    lines = [
        "set ns [new Simulator]",
        "set a [$ns node]; set b [$ns node]",
        f"$ns duplex-link $a $b {case.rate} 20ms DropTail",
        f"$ns queue-limit $a $b {case.limit + 1}",  # DropTail drops what would make the queue reach its limit
        "$ns queue-limit $b $a 1000",
    ]
    for start in case.starts:
        lines += [
            "set from [$ns node]; set to [$ns node]",
            f"$ns duplex-link $from $a {case.access} 2.37ms DropTail",
            f"$ns duplex-link $b $to {case.access} 4ms DropTail",
            "foreach {x y} [list $from $a $a $from $b $to $to $b] { $ns queue-limit $x $y 1000000 }",
            f"set tcp [new {kind}]; set sink [new {sink}]; $sink set packetSize_ 40",
            f"$tcp set packetSize_ {mss}; $tcp set window_ {window}; $tcp set fid_ [incr flow]; {settings}",
            *([] if linux else ["$tcp set singledup_ 1; $tcp set minrto_ 1.0; $tcp set rtxcur_init_ 6.0"]),
            "$ns attach-agent $from $tcp; $ns attach-agent $to $sink; $ns connect $tcp $sink",
            f'$ns at {start / 1e6 + late:.9f} "$tcp send -1"',
        ]
    lines += [f"$ns trace-queue $a $b [open {trace} w]", f'$ns at {_SHARED_SECONDS} "exit 0"', "$ns run"]
    return "\n".join(lines) + "\n"


def events(what: str, text: Callable[[Path], str]) -> list[list[str]]:
    """The words of each line of ns-2's trace. Raises `measure.OracleError` if ns-2 fails."""
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


def run_shared(case: SharedBuffer) -> list[str]:
    """The packets that ns-2 drops, in order, as "flow:packet"."""
    traced = events(case.agent, lambda trace: shared_script(case, trace))
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
    """Rewrites all recordings; returns the exit code."""
    what = "Records what ns-2.35 sends where listed packets are lost, and drops where flows share a buffer."
    parser = argparse.ArgumentParser(prog=COMMAND, description=what)
    parser.parse_args()
    if not measure.available():
        print("ns-2 is not installed: apt-get install ns2", file=sys.stderr)
        return 2
    for folder in ("timelines", "shared-buffer"):
        (STORED / folder).mkdir(parents=True, exist_ok=True)
    for agent, ratio, seconds, seed in TIMELINES:
        lost = losses(ratio, seconds, seed)
        sent = run(agent, seconds, lost)
        lost = [number for number in lost if number < len(sent)]
        lines = [f"# {measure.version()}, {COMMAND}", f"agent {agent}", f"seconds {seconds}"]
        lines += [f"lost {' '.join(map(str, lost))}", f"sent {ranges(sent)}"]
        (STORED / "timelines" / f"{agent}-{ratio}.txt").write_text("\n".join(lines) + "\n")
        print(f"{agent}, {ratio:.1%} lost: {len(sent)} packets, {len(lost)} of them lost")
    for case in SHARED_BUFFERS:
        dropped = run_shared(case)
        lines = [f"# {measure.version()}, {COMMAND}", f"agent {case.agent}", f"seconds {_SHARED_SECONDS}"]
        lines += [f"rate {case.rate}", f"access {case.access}", f"limit {case.limit}"]
        lines += [f"starts {' '.join(map(str, case.starts))}", f"lost {' '.join(dropped)}"]
        name = f"{case.agent}-{len(case.starts)}-{case.rate // 1000}-{case.limit}.txt"
        (STORED / "shared-buffer" / name).write_text("\n".join(lines) + "\n")
        print(f"{case.agent}, {len(case.starts)} flows at {case.rate / 1e6} Mbit/s: {len(dropped)} lost")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
