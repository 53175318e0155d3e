"""Speed: compared with ns-2.35 and ns-3, and checked by instruction counts.

Comparisons need an installed ns-2 or ns-3, instruction counts need valgrind. Machines are shared and noisy, so the
report has user time, the least of twelve runs, and ratios. ns-2 runs the same dumbbell as long, and its time is the
least of two runs; it is compared with and without the setup of the network.

`python conformance/bench/bench.py [--quick] [--profiled] [--store]`; exit code 1 if instruction counts grew by 5 %.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import quantiles
from typing import Any

from sojourn.runs.workers import HUGE_PAGES, environment

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from conformance.bench import as_wheels, parts  # noqa: E402  a script's own folder is in the path, and not the project's

STORED = Path(__file__).with_name("instructions.json")
SWEEP = 100  # equal runs, to measure the gain of two threads
NS2_RUNS = 2
GROWTH = 1.05  # largest growth of an instruction count
DUMBBELL = ROOT / "target/release/examples/dumbbell"
TOPOLOGY = ROOT / "target/release/examples/topology"
QDISC = ROOT / "target/release/examples/qdisc"
SCENARIO = ROOT / "target/release/examples/scenario"
EXAMPLES = {"dumbbell": "sojourn-sim", "topology": "sojourn-sim", "qdisc": "sojourn-aqm", "scenario": "sojourn-lab"}
LABORATORY = Path(__file__).with_name("laboratory.toml")


@dataclass(frozen=True)
class Case:
    """A dumbbell of NewReno flows, and the goal of its speed.

    The rate is in Mbit/s, times are in s and ms, and the limit is in packets.
    """

    name: str
    flows: int
    mbit: int
    seconds: float
    rtt_ms: int
    limit: int
    words: str = ""
    wanted_ratio: float = 0.0  # to the time of ns-2, which is measured if a ratio is wanted
    wanted_rate: float = 0.0

    @property
    def arguments(self) -> list[str]:
        """The arguments of the example program."""
        words = [self.flows, self.mbit, self.seconds, self.rtt_ms, self.limit, *self.words.split()]
        return [str(word) for word in words]


CASES = [
    Case("10 flows, 10 Mbit/s", 10, 10, 600, 100, 84, "", 15, 10e6),
    Case("10 flows, no access links at receivers", 10, 10, 600, 100, 84, "direct", wanted_rate=10e6),
    Case("100 flows, 1 Gbit/s", 100, 1000, 20, 100, 8400, "", 30),
    Case("1,000 flows, 1 Gbit/s", 1000, 1000, 20, 100, 8400, "", 250),
    Case("100 flows, RED, SACK, all statistics", 100, 1000, 20, 100, 8400, "sack red full", 14, 8e6),
    Case("100 flows, CoDel", 100, 1000, 20, 100, 8400, "codel", wanted_rate=8e6),
    Case("100 flows, PIE", 100, 1000, 20, 100, 8400, "pie", wanted_rate=7e6),
    Case("100 flows, FuzzyRTT, hints of senders", 100, 1000, 20, 100, 8400, "fuzzy-rtt ecn", wanted_rate=7e6),
    Case("100 flows, FuzzyRTT, hints of its router", 100, 1000, 20, 100, 8400, "fuzzy-rtt ecn router", wanted_rate=7e6),
    Case("100 flows, bbr3, profile linux", 100, 1000, 20, 100, 8400, "tcp=linux bbr3", wanted_rate=5e6),
    Case("100 flows, Prague over DualPI2", 100, 1000, 20, 100, 8400, "tcp=linux l4s dualpi2 prague", wanted_rate=5e6),
    Case("100 flows, CUBIC over CAKE", 100, 1000, 20, 100, 8400, "tcp=linux cubic cake", wanted_rate=6e6),
    Case("100 flows, CUBIC over FQ-CoDel", 100, 1000, 20, 100, 8400, "tcp=linux cubic fq-codel", wanted_rate=6e6),
    Case("10,000 flows, 10 Gbit/s", 10_000, 10_000, 3, 100, 84_000, wanted_rate=5e6),
    Case("100,000 flows, 100 Gbit/s", 100_000, 100_000, 0.5, 100, 840_000, wanted_rate=3e6),
]

# Networks other than a dumbbell: a name, and the arguments of the example `topology`.
TOPOLOGIES = {
    "parking lot of 5 hops, 60 flows, 1 Gbit/s": "parking-lot 60 1000 2",
    "4-ary fat tree, 480 flows, 1 Gbit/s": "fat-tree 480 1000 0.5",
}

# Dumbbells of Reno flows with SACK, timed in ns-3 too: cases as in `conformance/oracles/ns3/cases.toml`.
NS3_CASES: dict[str, dict[str, Any]] = {
    "10 flows, 10 Mbit/s": {"mbit": 10, "flows": {"reno": 10}, "rtt_ms": [100, 100], "limit": 84, "seconds": [0, 60]},
    "100 flows, 100 Mbit/s": {
        "mbit": 100,
        "flows": {"reno": 100},
        "rtt_ms": [100, 100],
        "limit": 840,
        "seconds": [0, 10],
    },
}

TCL = """\
set ns [new Simulator]
set r0 [$ns node]; set r1 [$ns node]
$ns simplex-link $r0 $r1 {mbit}Mb {core}ms {queue}
$ns simplex-link $r1 $r0 {mbit}Mb {core}ms DropTail
$ns queue-limit $r0 $r1 {limit}
$ns queue-limit $r1 $r0 100000
for {{set i 0}} {{$i < {flows}}} {{incr i}} {{
  set s($i) [$ns node]; set d($i) [$ns node]
  $ns duplex-link $s($i) $r0 {fast}Mb {edge}ms DropTail
  $ns duplex-link $r1 $d($i) {fast}Mb {edge}ms DropTail
  $ns queue-limit $s($i) $r0 100000
  $ns queue-limit $r1 $d($i) 100000
  set tcp($i) [new Agent/TCP/{agent}]; $tcp($i) set window_ 10000
  set sink($i) [new Agent/{sink}]
  $ns attach-agent $s($i) $tcp($i); $ns attach-agent $d($i) $sink($i); $ns connect $tcp($i) $sink($i)
  set ftp($i) [new Application/FTP]; $ftp($i) attach-agent $tcp($i)
  $ns at [expr $i / {flows}.0] "$ftp($i) start"
}}
proc total {{}} {{ global tcp; set t 0; foreach i [array names tcp] {{ incr t [$tcp($i) set ndatapack_] }}; return $t }}
$ns at {stop} {{ puts "packets [total]"; exit 0 }}
$ns run
"""


def user_seconds(command: list[str], runs: int) -> tuple[float, str]:
    """The smallest processor time of several runs in seconds, and the output of the last run."""
    least, said = float("inf"), ""
    for _ in range(runs):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        said = subprocess.run(command, capture_output=True, text=True, check=True, env=environment()).stdout
        least = min(least, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
    return max(least, 1e-3), said


def of_copies(program: Path, words: list[str], runs: int) -> tuple[float, str]:
    """`user_seconds` with a separate copy of the program for each run.

    Of two equal copies one may be a quarter slower for as long as it is in memory.
    """
    seconds, said = math.inf, ""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(runs):
            copy = shutil.copy(program, Path(folder, str(number)))
            least, said = user_seconds([copy, *words], 1)
            seconds = min(seconds, least)
    return seconds, said


def ours(case: Case, runs: int) -> tuple[float, int, int]:
    """Processor seconds, bottleneck packets, and bytes of memory per flow at the start."""
    seconds, said = of_copies(DUMBBELL, case.arguments, runs)
    packets = re.search(r"(\d+) bottleneck packets", said)
    memory = re.search(r"(\d+) B/flow", said)
    assert packets, said
    assert memory, said
    return seconds, int(packets[1]), int(memory[1])


def ns2(case: Case) -> tuple[float, float, int]:
    """ns-2's processor seconds for setup and for the run, and the packets its senders sent."""
    red, sack = "red" in case.words, "sack" in case.words

    def script(stop: float) -> str:
        return TCL.format(
            mbit=case.mbit,
            core=case.rtt_ms * 0.3,
            edge=case.rtt_ms * 0.1,
            fast=case.mbit * 10,
            flows=case.flows,
            limit=case.limit + (not red),
            queue="RED" if red else "DropTail",
            stop=stop,
            agent="Sack1" if sack else "Newreno",
            sink="TCPSink/Sack1" if sack else "TCPSink",
        )

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "dumbbell.tcl")
        path.write_text(script(1e-6))
        setup, _ = user_seconds(["ns", str(path)], NS2_RUNS)
        path.write_text(script(case.seconds))
        whole, said = user_seconds(["ns", str(path)], NS2_RUNS)
    packets = re.search(r"packets (\d+)", said)
    assert packets, said
    return setup, max(whole - setup, 1e-3), int(packets[1])


def line(case: Case, runs: int, with_ns2: bool) -> str:
    """One line of the table."""
    seconds, packets, memory = ours(case, runs)
    per_packet = seconds / packets * 1e9
    text = f"{case.name:38} {packets / seconds / 1e6:6.2f} M/s  {per_packet:6.0f} ns  {memory:5} B per flow"
    if with_ns2 and case.wanted_ratio:
        setup, run, sent = ns2(case)
        own, whole = run / sent * 1e9 / per_packet, (setup + run) / seconds
        text += f"  ns-2: {own:5.1f}x, {whole:6.1f}x with setup (wanted {case.wanted_ratio:g}x)"
    if case.wanted_rate:
        text += f"  (wanted {case.wanted_rate / 1e6:g} M/s)"
    return text


def of_many_flows(pairs: int) -> str:
    """The cost of a packet with 10,000 flows relative to ten flows, without setup.

    It is measured in the first 3 s and in 15 s. A run of ten flows with as many packets follows each of the others,
    and the median of their ratios counts. The least times of both would come from different moments of a shared
    machine, and ten flows, which need the cache less, would have the better ones. In the first 3 s every seventh
    packet is lost, and a lost packet costs nearly as much as one that passes.
    """

    def of_packet(flows: int, seconds: float) -> float:
        """Processor seconds per packet with 1 Mbit/s per flow."""
        case = Case("", flows, flows, seconds, 100, 84 * flows // 10)
        (setup, _, _), (whole, packets, _) = ours(replace(case, seconds=1e-6), 1), ours(case, 1)
        return (whole - setup) / packets

    def ratios(seconds: int, of_ten: int) -> str:
        lower, median, upper = quantiles(of_packet(10_000, seconds) / of_packet(10, of_ten) for _ in range(pairs))
        return f"{median:.2f}x in {seconds} s (quartiles {lower:.2f}x and {upper:.2f}x)"

    found = ", ".join(ratios(seconds, of_ten) for seconds, of_ten in ((3, 2_000), (15, 14_000)))
    return f"cost of a packet from 10 to 10,000 flows: {found} (wanted at most 1.5x)"


def counted(command: list[str], packets: str) -> tuple[int, int]:
    """The instruction count of a program by valgrind, and the number before `packets`."""
    tool = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command]
    run = subprocess.run(tool, capture_output=True, text=True, check=True)
    refs = re.search(r"refs:\s+([\d,]+)", run.stderr)
    counted = re.search(rf"(\d+) {packets}", run.stdout)
    assert refs, run.stderr
    assert counted, run.stdout
    return int(refs[1].replace(",", "")), int(counted[1])


def whole_run(words: str) -> float:
    """Instructions per bottleneck packet of a run of the dumbbell."""
    spent, packets = counted([str(DUMBBELL), *words.split()], "bottleneck packets")
    return spent / packets


def over_links(words: str) -> float:
    """Instructions per packet and link of a run of another network."""
    spent, packets = counted([str(TOPOLOGY), *words.split()], "packets over links")
    return spent / packets


def of_laboratory() -> float:
    """Instructions per bottleneck packet of a run with its record, as in the laboratory."""
    spent, packets = counted([str(SCENARIO), str(LABORATORY)], "packets at")
    return spent / packets


def topologies(runs: int) -> None:
    """Prints the packets per second over a link in networks other than a dumbbell."""
    for name, words in TOPOLOGIES.items():
        seconds, said = of_copies(TOPOLOGY, words.split(), runs)
        packets = re.search(r"(\d+) packets over links", said)
        assert packets, said
        print(f"{name:42} {int(packets[1]) / seconds / 1e6:6.2f} M/s over links", flush=True)


def ns3(runs: int) -> list[str]:
    """Lines on our processor time and that of ns-3 for the same dumbbells, with setup."""
    from conformance.oracles.ns3 import validate

    if (missing := validate.unavailable()) is not None:
        return [f"ns-3 is not timed: {missing}"]
    import sojourn as sj  # the package under test, built by `make setup`

    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for name, case in NS3_CASES.items():
            program = validate.build(Path(folder), case)
            theirs, said = user_seconds([str(program), *validate.arguments(case, 1)], 1)
            theirs = theirs / json.loads(said)["arrived"] * 1e9
            ours = math.inf
            for _ in range(runs):
                begin = time.process_time()
                record = sj.run(validate.scenario(case, 1))
                ours = min(ours, (time.process_time() - begin) / record["links"][0]["arrived"] * 1e9)
            lines.append(f"ns-3: {name}: {theirs:.0f} ns a packet, ours {ours:.0f} ns: {theirs / ours:.0f}x")
    return lines


def bytes_per_flow(flows: int) -> int:
    """Bytes of memory per flow at the start."""
    command = [str(DUMBBELL), str(flows), "10000", "0.01", "100", "84000"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    memory = re.search(r"(\d+) B/flow", said)
    assert memory, said
    return int(memory[1])


def instructions() -> dict[str, float]:
    """Instructions per bottleneck packet of short runs, and per packet and link elsewhere.

    Runs of the laboratory are included.
    """
    runs = {
        "newreno-droptail": "10 10 20 100 84",
        "direct": "10 10 20 100 84 direct",
        "sack-red-full": "20 50 5 60 200 sack red full",
        "codel": "10 10 20 100 84 codel",
        "linux-cubic": "10 100 6 22 344 tcp=linux cubic",
        "linux-bbr": "10 100 6 22 344 tcp=linux bbr",
        "linux-bbr3": "10 100 6 22 344 tcp=linux bbr3",
        "linux-prague-dualpi2": "10 100 6 22 344 tcp=linux l4s dualpi2 prague",
        "linux-cubic-cake": "10 100 6 22 344 tcp=linux cubic cake",
        "linux-cubic-fq-codel": "10 100 6 22 344 tcp=linux cubic fq-codel",
    }
    others = {"parking-lot": "parking-lot 12 100 1", "fat-tree": "fat-tree 96 100 0.1"}
    counts = {name: whole_run(words) for name, words in runs.items()}
    return counts | {name: over_links(words) for name, words in others.items()} | {"laboratory": of_laboratory()}


def algorithms() -> None:
    """Prints the cost of a packet under PI, REM and LED, relative to DropTail."""

    def alone(name: str) -> float:
        few, many = (counted([str(QDISC), name, str(n)], "packets") for n in (50_000, 150_000))
        return (many[0] - few[0]) / (many[1] - few[1])

    def whole(name: str) -> float:
        return whole_run(f"20 50 5 60 200 {name}")

    for where, cost in (("the queue alone", alone), ("a whole run", whole)):
        least = cost("droptail")
        ratios = ", ".join(f"{name} {cost(name) / least:.2f}x" for name in ("pi", "rem", "led"))
        print(f"instructions per packet in {where}: droptail {least:.0f}, {ratios} (wanted at most 1.3x)")


def random_loss() -> str:
    """Instructions that random loss takes for each packet of a link."""
    without, before, after = (whole_run(f"10 10 60 100 84{words}") for words in ("", " loss", " loss-after"))
    costs = f"{before - without:.0f} before the queue, {after - without:.0f} after it"
    return f"instructions of random loss per packet: {costs} (wanted 50)"


def guard(store: bool) -> bool:
    """Prints instruction counts next to the stored ones; returns whether the growth is allowed."""
    counts = instructions()
    if store:
        STORED.write_text(json.dumps({name: round(count, 1) for name, count in counts.items()}, indent=2) + "\n")
    stored = json.loads(STORED.read_text()) if STORED.exists() else {}
    fine = True
    for name, count in counts.items():
        known = stored.get(name, count)
        grown = count > known * GROWTH
        fine &= not grown
        print(f"instructions per packet, {name}: {count:.0f} (stored {known:.0f}){'  GROWN' if grown else ''}")
    return fine


def controllers() -> str:
    """Instructions per bottleneck packet of background flows, relative to NewReno.

    The profile is `ns2-linux`.
    """
    names = ("reno", "cubic", "ledbat", "ledbat++", "flower", "flower+")
    counts = {name: whole_run(f"10 10 60 100 84 tcp=ns2-linux {name}") for name in names}
    ratios = ", ".join(f"{name} {count / counts['reno']:.2f}x" for name, count in counts.items() if name != "reno")
    return f"instructions per packet against NewReno's {counts['reno']:.0f}: {ratios} (wanted at most 1.3x)"


def laws() -> str:
    """The cost of an update of the laws, as the crate's own benchmark prints it."""
    command = ["cargo", "bench", "--quiet", "-p", "sojourn-aqm", "--bench", "speed"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    return f"{said}\n(wanted of FuzzyRTT: 1000 ns)"


def scaling(runs: int) -> str:
    """The speedup of two threads over one for equal runs, in wall-clock and processor time.

    Wall-clock time needs two idle cores; processor time is meaningful on a busy machine too.
    """
    import sojourn as sj  # the package under test, built by `make setup`

    scenario = sj.load(str(ROOT / "papers/lehto-2005/scenarios/1-base.toml"))
    wall, spent = {1: math.inf, 2: math.inf}, {1: math.inf, 2: math.inf}
    for _ in range(runs):  # alternating, so that both see the same load
        for threads in (1, 2):
            begin = time.perf_counter(), time.process_time()
            sj.run_many(scenario, SWEEP, threads=threads)
            wall[threads] = min(wall[threads], time.perf_counter() - begin[0])
            spent[threads] = min(spent[threads], time.process_time() - begin[1])
    times = f"{SWEEP} runs on 1 thread {wall[1]:.2f} s, on 2 threads {wall[2]:.2f} s, the least of {runs}"
    ratio = f"{wall[1] / wall[2]:.2f}x (wanted 1.9x on 2; {os.cpu_count()} cores)"
    return f"{times}: {ratio}; processor time {spent[2] / spent[1]:.2f}x"


def fluid(runs: int) -> str:
    """Processor time of the fluid model: 60 s of one class of flows under LED, in steps of 1 ms."""
    from sojourn.analysis import Loop, Plant

    loop, least = Loop({"aqm": "led"}, Plant.of(30, 625, 0.052)), math.inf
    for _ in range(runs):
        begin = time.process_time()
        loop.simulate(60.0, step=1e-3, every=10)
        least = min(least, time.process_time() - begin)
    return f"fluid model, 60 s of one class at 1 ms: {least * 1e3:.1f} ms, the least of {runs} (wanted 3 ms)"


def build(flags: str = "") -> None:
    """Builds the programs that are timed, with more flags of rustc."""
    environ = {**os.environ, "RUSTFLAGS": f"{os.environ.get('RUSTFLAGS', '')} {flags}".strip()} if flags else None
    for example, part in EXAMPLES.items():
        command = ["cargo", "build", "--release", "--quiet", "-p", part, "--example", example]
        subprocess.run(command, cwd=ROOT, check=True, env=environ)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one run for each case, without the largest")
    parser.add_argument("--profiled", action="store_true", help="build the programs as wheels are, with a profile")
    parser.add_argument("--store", action="store_true", help="store the instruction counts for later comparison")
    options = parser.parse_args()
    build()
    if options.profiled:
        build(as_wheels.flags(build, DUMBBELL, SCENARIO))
    with_ns2 = shutil.which("ns") is not None
    if not with_ns2:
        print("ns-2 is not installed (Debian package ns2): no ratios")
    print(f"timed as the processes of a sweep run, with {HUGE_PAGES}=1 unless GLIBC_TUNABLES says otherwise")
    for case in CASES[: 3 if options.quick else None]:
        print(line(case, 1 if options.quick else 12, with_ns2), flush=True)
    if not options.quick:
        print(of_many_flows(12), flush=True)
    topologies(1 if options.quick else 3)
    memory = ", ".join(f"{bytes_per_flow(flows)} B with {flows:,} flows" for flows in (10_000, 100_000))
    print(f"memory per flow at the start: {memory} (wanted 700 B)")
    print(*ns3(1 if options.quick else 3), sep="\n", flush=True)
    print(laws(), flush=True)
    print(fluid(20), flush=True)
    print(scaling(1 if options.quick else 5), flush=True)
    parts.main(1 if options.quick else 5)
    if shutil.which("valgrind") is None:
        print("valgrind is not installed: no instruction counts")
        return 0
    print(controllers(), flush=True)
    algorithms()
    print(random_loss(), flush=True)
    if options.profiled:
        print(*(f"instructions per packet, {name}: {count:.0f}" for name, count in instructions().items()), sep="\n")
        return 0
    return 0 if guard(options.store) else 1


if __name__ == "__main__":
    sys.exit(main())
