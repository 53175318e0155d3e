"""Runs the same dumbbells in ns-3 and in Sojourn over seeds and compares them.

    python -m conformance.oracles.ns3.validate                    # every case, with its stored seeds
    python -m conformance.oracles.ns3.validate codel-10 --seeds 10
    python -m conformance.oracles.ns3.validate --ns3 stored       # ns-3's stored numbers
    python -m conformance.oracles.ns3.validate --store            # after a change to the cases or a program
    python -m conformance.oracles.ns3.validate codel-10 --print 1 # the arguments of its program for seed 1
    python -m conformance.oracles.ns3.validate bbr-5 --unmended pace # without this fix of ns-3 (README.md)

Exit code 1 for a miss that `explained.toml` does not cover, or an entry there without a miss; 2 if a simulator could
not be run. Bounds and verdicts are in `conformance/oracles/compare.py`.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import math
import random
import shutil
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from .. import compare
from ..results import Results

HERE = Path(__file__).parent
EXPLAINED, RESULTS = HERE / "explained.toml", Results(HERE / "stored.json.xz")
LIBRARIES = ("core", "network", "internet", "point-to-point", "applications", "traffic-control")
LINKED = " ".join(f"-lns3-{name}" for name in LIBRARIES)
# IP packets of 1500 bytes, of which 20 are IP and 32 TCP headers: ns-3 fragments larger ones. PPP adds 2 bytes.
PAYLOAD, WIRE = 1448, 1502
BOTTLENECK_MS = 1.0
LIMIT, WINDOW = 1000, 11000  # packets, by default
# Controllers with the TCP options that they take in a scenario, and their names in ns-3; Reno and Ledbat are those of
# dumbbell.cc, Bbr and Dctcp those of transports.cc.
CONTROLS: dict[str, tuple[dict[str, Any], str]] = {
    "reno": ({"control": {"cc": "reno"}}, "Reno"),
    "cubic": ({"control": {"cc": "cubic", "version": "rfc9438", "reno_friendly": False}}, "ns3::TcpCubic"),
    "ledbat": ({"control": {"cc": "ledbat", "variant": "rfc6817", "target": "100 ms"}}, "Ledbat"),
    "bbr": ({"control": {"cc": "bbr", "policers": False}}, "Bbr"),
    # Its window grows by whole segments, as Linux's.
    "dctcp": ({"control": {"cc": "dctcp"}, "ecn": "dctcp", "linux_growth": True}, "Dctcp"),
}
# The laws that dumbbell.cc fixes, with ns-3's original code.
LAWS = {"Reno": "ns3::TcpNewReno", "Ledbat": "ns3::TcpLedbat"}
# What is mended of ns-3: these laws, and parts of BBR (transports.cc). And what is left as it is without it: the mend
# of `samples` sets to zero the time from which unmended `acks` count.
MENDED = {each: [each] for each in ("law", "samples", "pace", "aggregation")} | {"acks": ["samples", "acks"]}
LOST = (compare.Metric("lost", 0.05, relative=True),)
# Over equal-cost paths: goodput and queue of a used path, the share of unused paths, and the
# sum of the squares of the paths' shares of packets, which is the probability that two packets took the same path.
PATHS = (
    *(metric for metric in compare.METRICS if metric.name in ("goodput_bps", "queue_mean", "drop_rate", "jain")),
    compare.Metric("idle", 0.02, relative=False),
    compare.Metric("together", 0.02, relative=False),
)
# With random loss: also the share of packets that the link loses after its queue.
LOSSES = (*(metric for metric in compare.METRICS if metric.name in ("utilization", "goodput_bps", "jain")), *LOST)
Table = dict[str, Any]


class OracleError(RuntimeError):
    """ns-3 can't be run, and no numbers of this case are stored."""


def cases() -> dict[str, Table]:
    """The dumbbells by name."""
    return dict(tomllib.loads((HERE / "cases.toml").read_text(encoding="utf-8")))


def explanations() -> dict[tuple[str, str], compare.Explanation]:
    """The known misses, by case and metric."""
    return compare.explanations(EXPLAINED, list(cases()), (*compare.METRICS, *compare.SHARES, *PATHS, *LOSSES))


def judged(case: Table) -> tuple[compare.Metric, ...]:
    """The compared metrics of a case.

    They are those of the link and its flows; with LEDBAT its share and the queue; with paths those of the paths.
    """
    if "ledbat" in case["flows"]:
        return compare.SHARES
    if "paths" in case:
        return PATHS
    if "error" in case:
        return LOSSES
    return tuple(metric for metric in compare.METRICS if metric.name != "mark_rate" or "step" in case)


def draw(case: Table, seed: int) -> tuple[list[float], list[float]]:
    """One-way access delays and start times in seconds of each flow, for both simulators."""
    numbers = random.Random(f"{case['flows']}/{case['rtt_ms']}/{seed}")
    low, high = ((rtt / 2 - BOTTLENECK_MS) / 1000 for rtt in case["rtt_ms"])
    n = sum(case["flows"].values())
    return (
        [round(numbers.uniform(low, high), 6) for _ in range(n)],
        [round(numbers.uniform(0, 5), 6) for _ in range(n)],
    )


def _queue(case: Table) -> Table:
    """The queue table for ns-3's discipline.

    The discipline feeds a device that holds one more packet while it sends. In ns-3 waits are one serialization time
    shorter, and the discipline counts one packet less.
    """
    aqm = case.get("queue", "step" if "step" in case else "droptail")
    queue: Table = {"aqm": aqm, "limit": f"{case.get('limit', LIMIT) + 1} packets"}
    if aqm in ("codel", "fq-codel"):
        queue["target"] = f"{round(5e6 + WIRE * 8e3 / case['mbit'])} ns"
        queue["max_packet"] = f"{WIRE} B"
        queue["rule"] = "linux"  # ns-3 takes Newton's step for the square root, as Linux does
    if aqm == "fq-codel":
        # The packet in the device is seldom of the same flow: as in ns-3, one packet behind it is enough to decide.
        queue |= {"quantum": f"{WIRE} B", "max_packet": f"{WIRE - 2} B", "flows": 65536}
    if aqm == "step":
        queue |= {"packets": case["step"] + 1, "ecn": True}
    if aqm == "red":
        queue |= {"min": case["min"] + 1, "max": case["max"] + 1, "weight": case["weight"], "max_p": 0.1}
    return queue


TCP: Table = {
    "profile": "linux",
    "delayed_ack": False,
    "min_rto": "1 s",
    "max_rto": "60 s",
    "sack_algorithm": "rfc6675",
    "linux_growth": False,
    "linux_pacing": False,
    "sack_compression": "0 s",
    "timer_wheel": False,
    "windowed_variation": False,
    "adaptive_delayed_ack": False,
    "dsack": False,
    "notsent_lowat": "0 B",
}
"""The TCP of ns-3: timestamps and SACK as in Linux.

Loss recovery, growth and timers are those of the RFCs.
"""


def _impairments(case: Table) -> list[Table]:
    """The link's random loss.

    A burst of ns-3 has k packets or more with the probability q^k, q = exp(-1 / length), so it may have none: a state
    that begins with q times the probability, and ends with 1 - q at each packet.
    """
    if "error" not in case:
        return []
    if case["error"] != "burst":
        return [{"kind": "loss", "probability": case["probability"], "per": case["error"]}]
    q = math.exp(-1 / case["length"])
    begins = case["probability"] * q
    states = {"good": f"{1 / begins:.9g} packets", "bad": f"{1 / (1 - q):.9g} packets"}
    return [{"kind": "gilbert-elliott"} | states]


def _links(case: Table) -> list[Table]:
    """The bottleneck, or one on each path and a fast link behind it."""
    back: Table = {"duplex": True, "back": {"queue": {"limit": "10000 packets"}}}
    slow = {
        "rate": f"{case['mbit']} Mbit/s",
        "delay": f"{BOTTLENECK_MS} ms",
        "queue": _queue(case),
        "impairments": _impairments(case),
    } | back
    if "paths" not in case:
        return [{"name": "bottleneck", "from": "R0", "to": "R1"} | slow]
    fast = {"rate": "1 Gbit/s", "delay": "0 ms", "queue": {"limit": "100000 packets"}} | back
    first = [{"name": f"path{i}", "from": "R0", "to": f"M{i}"} | slow for i in range(case["paths"])]
    return first + [{"name": f"behind{i}", "from": f"M{i}", "to": "R1"} | fast for i in range(case["paths"])]


def scenario(case: Table, seed: int) -> Table:
    """The case as a scenario."""
    delays, starts = draw(case, seed)
    groups, first = [], 0
    for control, count in case["flows"].items():
        own = slice(first, first + count)
        first += count
        groups.append(
            {
                "name": control,
                "count": count,
                "from": "R0",
                "to": "R1",
                "start": [f"{t} s" for t in starts[own]],
                "access": {"rate": "1 Gbit/s", "delay": [f"{d} s" for d in delays[own]]},
                "traffic": {"kind": "bulk"},
                "tcp": CONTROLS[control][0],
                **({"paths": "flow"} if "paths" in case else {}),
            }
        )
    window = case.get("window", WINDOW)
    tcp = TCP | {"mss": f"{PAYLOAD} B", "header": f"{WIRE - PAYLOAD} B", "window": f"{window} packets"}
    return {
        "name": "ns3",
        "warmup": f"{case['seconds'][0]} s",
        "duration": f"{case['seconds'][1]} s",
        "seed": seed,
        "packet": f"{WIRE} B",
        "links": _links(case),
        "tcp": tcp,
        "flows": groups,
    }


def arguments(case: Table, seed: int) -> list[str]:
    """The arguments of the program."""
    delays, starts = draw(case, seed)
    unmended = case.get("unmended", [])
    names = {control: CONTROLS[control][1] for control in case["flows"]}
    if "law" in unmended:
        names = {control: LAWS.get(name, name) for control, name in names.items()}
    controls = [names[control] for control, count in case["flows"].items() for _ in range(count)]
    warmup, duration = case["seconds"]
    named = {
        "queue": case.get("queue", "droptail"),
        "rate": case["mbit"] * 1e6,
        "limit": case.get("limit", LIMIT),
        "seed": seed,
        "warmup": warmup,
        "duration": duration,
        "payload": PAYLOAD,
        "controls": ",".join(controls),
        "delays": ",".join(map(str, delays)),
        "starts": ",".join(map(str, starts)),
    }
    if "step" in case:
        # RED that marks every packet from one threshold of the present queue on.
        named |= {"queue": "red", "min": case["step"], "max": case["step"], "weight": 1}
    named |= {
        key: case[key] for key in ("min", "max", "weight", "paths", "error", "probability", "length") if key in case
    }
    if "paths" in case:
        named["window"] = case.get("window", WINDOW) * PAYLOAD
    if sources(case)[0] == "transports.cc":
        named["unmended"] = ",".join(unmended)
    return [f"{key}={value}" for key, value in named.items()]


def sources(case: Table) -> list[str]:
    """The program of the case, and its headers."""
    own = {"paths": "ecmp.cc", "error": "losses.cc", "bbr": "transports.cc", "dctcp": "transports.cc"}
    return [*(source for key, source in own.items() if key in {*case, *case["flows"]}), "dumbbell.cc"]


def command(case: Table) -> str:
    """Compiles the program of the case."""
    source = sources(case)[0]
    return f"g++ -O2 -std=c++17 {source} -o {source.removesuffix('.cc')} {LINKED}"


def digest(case: Table, seed: int) -> str:
    """The SHA-256 of the program and its arguments."""
    program = b"".join((HERE / source).read_bytes() for source in sources(case))
    return hashlib.sha256(program + "\n".join(arguments(case, seed)).encode()).hexdigest()


def unavailable() -> str | None:
    """The reason why ns-3 can't be run; None if it can."""
    if shutil.which("g++") is None:
        return "g++ is not installed"
    if not Path("/usr/include/ns3/core-module.h").exists():
        return "ns-3 is not installed (Debian: libns3-dev)"
    return None


def build(folder: Path, case: Table) -> Path:
    """The program of the case, compiled in this folder unless it exists."""
    source = sources(case)[0]
    program = folder / source.removesuffix(".cc")
    if not program.exists():
        subprocess.run(command(case).replace(source, str(HERE / source)).split(), check=True, cwd=folder)
    return program


def _metrics(case: Table, link: Table, goodput: list[float]) -> dict[str, float]:
    """The compared numbers: of the link, of all flows, and the first group's share of the link."""
    first = next(iter(case["flows"].values()))
    return {
        "utilization": link["utilization"],
        "goodput_bps": sum(goodput),
        "queue_mean": link["queue_mean"],
        "queue_sd": link["queue_sd"],
        "drop_rate": link["dropped"] / max(link["arrived"], 1),
        "jain": compare.jain(goodput),
        "share": sum(goodput[:first]) / (case["mbit"] * 1e6),
        **({"mark_rate": link["marked"] / max(link["arrived"], 1)} if "step" in case else {}),
        **({"lost": link["lost"] / (link["lost"] + link["received"])} if "error" in case else {}),
    }


def _path_metrics(paths: list[Table], goodput: list[float]) -> dict[str, float]:
    """The compared numbers of equal-cost paths, and of all flows over them."""
    carried = [path["throughput_bps"] for path in paths]
    used = len(paths) - carried.count(0)
    return {
        "goodput_bps": sum(goodput) / used,
        "queue_mean": sum(path["queue_mean"] for path in paths) / used,
        "drop_rate": sum(path["dropped"] for path in paths) / max(sum(path["arrived"] for path in paths), 1),
        "jain": compare.jain(goodput),
        "idle": carried.count(0) / len(paths),
        "together": sum(x * x for x in carried) / sum(carried) ** 2,
    }


def run_ns3(program: Path, case: Table, seed: int) -> Table:
    """One run of ns-3: its seed, the hash of program and arguments, and the compared numbers."""
    said = subprocess.run([str(program), *arguments(case, seed)], check=True, capture_output=True, text=True)
    record: Table = {}
    for line in said.stdout.splitlines():
        record |= json.loads(line)
    goodput = record["goodput_bps"]
    numbers = _path_metrics(record["paths"], goodput) if "paths" in case else _metrics(case, record, goodput)
    return {"seed": seed, "sha256": digest(case, seed), "metrics": {k: float(f"{v:.7g}") for k, v in numbers.items()}}


def run_ours(case: Table, seed: int) -> dict[str, float]:
    """The compared numbers of one run of Sojourn."""
    record = importlib.import_module("sojourn").run(scenario(case, seed))
    goodput = [flow["goodput_bps"] for flow in record["flows"]]
    if "paths" in case:
        paths = [link for link in record["links"] if link["name"] in [f"path{i}" for i in range(case["paths"])]]
        return _path_metrics([_counts(link) | {"throughput_bps": link["throughput_bps"]} for link in paths], goodput)
    link = record["links"][0]
    busy = {"utilization": link["utilization"], "queue_sd": link["queue"]["sd"]}
    if "error" in case:
        (met,) = link["impairments"]
        busy |= {"lost": met["dropped"], "received": met["met"] - met["dropped"]}
    return _metrics(case, _counts(link) | busy, goodput)


def _counts(link: Table) -> Table:
    """The counters of a link of a record, under ns-3's names."""
    counts = {"dropped": link["dropped_total"], "arrived": link["arrived"], "marked": link["marked"]}
    return {"queue_mean": link["queue"]["mean"], **counts}


def ns3_runs(name: str, case: Table, seeds: int, folder: Path | None) -> list[Table]:
    """ns-3's numbers for seeds 1..`seeds`.

    They are computed with the program in `folder`, or without a folder read from the store. Raises `OracleError` if
    the stored numbers are missing or belong to another program or case.
    """
    if folder is not None:
        program = build(folder, case)
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(lambda seed: run_ns3(program, case, seed), range(1, seeds + 1)))
    stored = RESULTS.get(name)
    if stored is None:
        raise OracleError(f"{name}: ns-3 is not run and {RESULTS.file.name} has no such case")
    runs: list[Table] = stored["runs"][:seeds]
    if len(runs) < seeds:
        raise OracleError(f"{name}: {len(runs)} seeds are stored, {seeds} are asked for")
    for run in runs:
        if run["sha256"] != digest(case, run["seed"]):
            raise OracleError(f"{name}: the stored numbers of seed {run['seed']} belong to another program or case")
    return runs


def store(name: str, case: Table, runs: list[Table]) -> None:
    """Writes ns-3's numbers with their commands and the hash of program and arguments."""
    ask = f"python -m conformance.oracles.ns3.validate {name} --print SEED"
    made = f"{command(case)} && ./{sources(case)[0].removesuffix('.cc')} $({ask})"
    RESULTS.put(name, {"case": name, "ns3": "3.37", "command": made, "runs": runs})


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m conformance.oracles.ns3.validate", description="Compares Sojourn with ns-3."
    )
    parser.add_argument("--ns3", choices=["auto", "run", "stored"], default="auto", help="auto: run it if installed")
    parser.add_argument("--store", action="store_true", help="store ns-3's numbers, without Sojourn")
    parser.add_argument("--print", type=int, metavar="SEED", help="print the arguments of the program and stop")
    parser.add_argument("--unmended", choices=MENDED, help="leave this as it is in ns-3")
    options = compare.read_options(parser, argv, list(cases()))
    if options.unmended and (options.store or options.ns3 == "stored"):
        parser.error("--unmended: expected no --store and no --ns3 stored")
    has = {"reno", "ledbat"} if options.unmended == "law" else {"bbr"}
    if options.unmended and any(has.isdisjoint(cases()[name]["flows"]) for name in options.cases or cases()):
        parser.error(f"--unmended: expected cases that have {' or '.join(sorted(has))}")
    return options


def chosen(options: argparse.Namespace) -> dict[str, Table]:
    """The cases that the options select."""
    left = {"unmended": MENDED[options.unmended]} if options.unmended else {}
    return {name: cases()[name] | left for name in options.cases or cases()}


def compare_all(options: argparse.Namespace, folder: Path | None) -> list[compare.Row]:
    """The rows of every chosen case."""
    explained, rows = explanations(), []
    for name, case in chosen(options).items():
        print(f"{name} ...", file=sys.stderr, flush=True)
        runs = ns3_runs(name, case, options.seeds or compare.stored_seeds(RESULTS.get(name)), folder)
        if options.store:
            store(name, case, runs)
        ours = [] if options.store else [run_ours(case, run["seed"]) for run in runs]
        rows += compare.rows(name, [run["metrics"] for run in runs], ours, explained, judged(case))
    return rows


def main(argv: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    options = _options(argv)
    if options.list:
        print("\n".join(cases()))
        return 0
    if options.print is not None:
        for case in chosen(options).values():
            print(" ".join(arguments(case, options.print)))
        return 0
    missing = unavailable()
    if missing is not None and (options.store or options.unmended or options.ns3 == "run"):
        print(missing, file=sys.stderr)
        return 2
    live = options.ns3 == "run" or options.store or (options.ns3 == "auto" and missing is None)
    try:
        with tempfile.TemporaryDirectory() as folder:
            rows = compare_all(options, Path(folder) if live else None)
    except (OracleError, ImportError, subprocess.CalledProcessError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    print(compare.table(rows, "ns-3"))
    print("\n" + compare.summary(rows))
    return 1 if compare.failed(rows) else 0


if __name__ == "__main__":
    sys.exit(main())
