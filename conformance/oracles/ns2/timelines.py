"""What one flow of ns-2 sends, packet by packet, where given transmissions are lost.

Averages over a run forgive much. Here nothing is drawn and nothing queues: a flow over a fast link loses the
transmissions of a list, and the order of all packets that it sends is written down. `crates/sim/tests/timelines.rs`
plays the same list and takes nothing but the same order.

The delay is such that neither the least timeout (200 ms) nor a whole number of milliseconds meets the arrival of an
acknowledgement: what happens first at one instant is ns-2's floating-point sums' to say.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from . import measure

STORED = Path(__file__).parent / "stored" / "timelines"
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


def run(agent: str, seconds: int, lost: list[int]) -> list[int]:
    """The packets that ns-2 sends, in order. Raises `measure.OracleError` where it fails."""
    with tempfile.TemporaryDirectory() as folder:
        file, trace = Path(folder) / "run.tcl", Path(folder) / "trace"
        file.write_text(script(agent, seconds, lost, trace))
        done = subprocess.run(["ns", str(file)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise measure.OracleError(f"{agent}: ns-2 says {done.stderr.strip()[-500:]}")
        events = (line.split() for line in trace.read_text().splitlines())
        return [int(event[10]) for event in events if event[0] == "+" and event[4] == "tcp"]


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
    what = "Writes what ns-2.35 sends where given packets are lost."
    parser = argparse.ArgumentParser(prog=COMMAND, description=what)
    parser.parse_args()
    if not measure.available():
        print("ns-2 is not here: apt-get install ns2", file=sys.stderr)
        return 2
    STORED.mkdir(parents=True, exist_ok=True)
    for agent, ratio, seconds, seed in TIMELINES:
        lost = losses(ratio, seconds, seed)
        sent = run(agent, seconds, lost)
        lost = [number for number in lost if number < len(sent)]
        lines = [f"# {measure.version()}, {COMMAND}", f"agent {agent}", f"seconds {seconds}"]
        lines += [f"lost {' '.join(map(str, lost))}", f"sent {ranges(sent)}"]
        (STORED / f"{agent}-{ratio}.txt").write_text("\n".join(lines) + "\n")
        print(f"{agent}, {ratio:.1%} lost: {len(sent)} packets, {len(lost)} of them lost")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
