"""The same dumbbells in ns-3 and in Sojourn, over seeds, side by side.

    python -m conformance.oracles.ns3.validate                    # every case, 3 seeds; ns-3 where it is installed
    python -m conformance.oracles.ns3.validate codel-10 --seeds 5
    python -m conformance.oracles.ns3.validate --ns3 stored       # ns-3's numbers from stored/
    python -m conformance.oracles.ns3.validate --store            # after a change to the cases or to dumbbell.cc

Exits with 1 on a miss that `explained.toml` doesn't list. Verdicts and bounds are those of the ns-2 oracle.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import shutil
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from conformance.oracles.ns2 import compare

HERE = Path(__file__).parent
SOURCE = HERE / "dumbbell.cc"
LIBRARIES = ("core", "network", "internet", "point-to-point", "applications", "traffic-control")
PACKET = 1512  # 1460 of payload, 20 of IP, 32 of TCP with timestamps; 2 of PPP come on top on the wire
Table = dict[str, Any]


def cases() -> dict[str, Table]:
    """The dumbbells by name."""
    return dict(tomllib.loads((HERE / "cases.toml").read_text(encoding="utf-8")))


def draw(case: Table, seed: int) -> tuple[list[float], list[float]]:
    """One-way access delays and start times in seconds: one draw for both simulators."""
    numbers = random.Random(f"{case['flows']}/{case['rtt_ms']}/{seed}")
    low, high = (rtt / 2000 - 0.001 for rtt in case["rtt_ms"])
    n = case["flows"]
    return (
        [round(numbers.uniform(low, high), 6) for _ in range(n)],
        [round(numbers.uniform(0, 5), 6) for _ in range(n)],
    )


def scenario(case: Table, seed: int) -> Table:
    """The case as a scenario."""
    delays, starts = draw(case, seed)
    wire, rate = PACKET + 2, case["mbit"] * 1e6
    queue: Table = {"aqm": case["queue"], "limit": f"{case['limit']} packets"}
    if case["queue"] in ("codel", "fq-codel"):
        # ns-3's discipline stands before a device that holds one packet more: its waits are one sending time shorter.
        queue |= {"target": f"{round(5e6 + wire * 8e9 / rate)} ns", "max_packet": f"{2 * wire} B"}
    if case["queue"] == "fq-codel":
        queue |= {"quantum": f"{wire} B"}
    if case["queue"] == "red":
        queue |= {"min": case["min"], "max": case["max"], "weight": case["weight"], "max_p": 0.1}
    times = {"duration": f"{case['duration']} s", "warmup": f"{case['warmup']} s"}
    link = {
        "name": "bottleneck", "from": "R0", "to": "R1", "rate": f"{case['mbit']} Mbit/s", "delay": "1 ms",
        "queue": queue, "duplex": True, "back": {"queue": {"limit": "10000 packets"}},
    }  # fmt: skip
    flows = {
        "name": "ftp", "count": case["flows"], "from": "R0", "to": "R1", "start": [f"{t} s" for t in starts],
        "access": {"rate": "1 Gbit/s", "delay": [f"{d} s" for d in delays]}, "traffic": {"kind": "bulk"},
    }  # fmt: skip
    tcp = {
        "profile": "rfc", "recovery": "sack", "mss": "1460 B", "header": f"{wire - 1460} B", "delayed_ack": False,
        "min_rto": "1 s", "window": "11000 packets",
    }  # fmt: skip
    return {"name": "ns3", **times, "seed": seed, "packet": f"{wire} B", "links": [link], "tcp": tcp, "flows": [flows]}


def compiler() -> str | None:
    """Why ns-3 can't be run here; None where it can."""
    if shutil.which("g++") is None:
        return "g++ is not installed"
    if not Path("/usr/include/ns3/core-module.h").exists():
        return "ns-3 is not installed (Debian: libns3-dev)"
    return None


def build(folder: Path) -> Path:
    """Compiles the dumbbell."""
    program = folder / "dumbbell"
    libraries = [f"-lns3-{name}" for name in LIBRARIES]
    subprocess.run(["g++", "-O2", "-std=c++17", str(SOURCE), "-o", str(program), *libraries], check=True)
    return program


def run_ns3(program: Path, case: Table, seed: int) -> dict[str, float]:
    """One run of ns-3."""
    delays, starts = draw(case, seed)
    given = {
        "queue": case["queue"], "rate": case["mbit"] * 1e6, "limit": case["limit"], "seed": seed,
        "warmup": case["warmup"], "duration": case["duration"], "delays": ",".join(map(str, delays)),
        "starts": ",".join(map(str, starts)), "min": case.get("min", 0), "max": case.get("max", 0),
        "weight": case.get("weight", 0),
    }  # fmt: skip
    said = subprocess.run(
        [str(program), *(f"{key}={value}" for key, value in given.items())], check=True, capture_output=True, text=True
    )
    return dict(json.loads(said.stdout))


def run_ours(case: Table, seed: int) -> dict[str, float]:
    """The same in Sojourn."""
    from sojourn import run

    record = run(scenario(case, seed))
    link = record["links"][0]
    return {
        "utilization": link["utilization"], "queue_mean": link["queue"]["mean"], "queue_sd": link["queue"]["sd"],
        "drop_rate": link["loss_ratio"], "jain": record["total"]["jain"], "goodput_bps": record["total"]["goodput_bps"],
    }  # fmt: skip


def digest(case: Table) -> str:
    """What a stored result belongs to."""
    return hashlib.sha256(json.dumps(case, sort_keys=True).encode() + SOURCE.read_bytes()).hexdigest()[:16]


def oracle(name: str, case: Table, seeds: int, program: Path | None) -> list[dict[str, float]]:
    """ns-3's numbers, one row a seed: run, or as stored."""
    if program is not None:
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(lambda seed: run_ns3(program, case, seed), range(1, seeds + 1)))
    file = HERE / "stored" / f"{name}.json"
    if not file.exists():
        raise SystemExit(f"{name}: skipped: ns-3 is not run here and nothing is stored for it")
    stored = json.loads(file.read_text(encoding="utf-8"))
    if stored["digest"] != digest(case):
        raise SystemExit(f"stored/{name}.json belongs to another case or program: run with --store")
    return list(stored["runs"][:seeds])


BOUNDS = {
    "utilization": (0.01, 0.0), "goodput_bps": (0.01, 0.0), "queue_mean": (0.05, 0.0), "queue_sd": (0.10, 0.0),
    "drop_rate": (0.10, 2e-5), "jain": (0.0, 0.02),
}  # fmt: skip


def judge(key: str, theirs: compare.Estimate, ours: compare.Estimate) -> str:
    """Inside the bound, within the noise of both, or a miss."""
    relative, absolute = BOUNDS[key]
    off = abs(ours.mean - theirs.mean)
    bound = max(relative * abs(theirs.mean), absolute)
    if off <= bound:
        return "inside"
    return "within noise" if off - bound <= ours.half + theirs.half else "MISS"


def main(arguments: list[str] | None = None) -> int:
    """Runs, prints, judges."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--ns3", choices=("run", "stored"), default=None)
    parser.add_argument("--store", action="store_true")
    given = parser.parse_args(arguments)
    known = cases()
    explained = tomllib.loads((HERE / "explained.toml").read_text(encoding="utf-8"))
    missing = compiler()
    live = given.ns3 != "stored" and missing is None
    if not live and given.ns3 != "stored":
        print(f"{missing}: stored numbers are taken")
    misses = 0
    with tempfile.TemporaryDirectory() as folder:
        program = build(Path(folder)) if live else None
        for name in given.names or known:
            case = known[name]
            theirs = oracle(name, case, given.seeds, program)
            if given.store:
                (HERE / "stored").mkdir(exist_ok=True)
                text = json.dumps({"digest": digest(case), "ns3": "3.37", "runs": theirs}, indent=1)
                (HERE / "stored" / f"{name}.json").write_text(text + "\n", encoding="utf-8")
            ours = [run_ours(case, seed) for seed in range(1, len(theirs) + 1)]
            for key in BOUNDS:
                one, two = (compare.estimate([row[key] for row in rows]) for rows in (theirs, ours))
                said = judge(key, one, two)
                why = explained.get(name, {}).get(key)
                if said == "MISS" and why:
                    said = f"explained: {why}"
                misses += said == "MISS"
                theirs, own = f"{one.mean:12.5g} ± {one.half:<9.3g}", f"{two.mean:12.5g} ± {two.half:<9.3g}"
                print(f"{name:14} {key:12} ns-3 {theirs} ours {own} {said}")
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
