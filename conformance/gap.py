"""Measures the gap between the hosts, and writes the table of docs/gap.md.

python -m conformance.gap              write the table from the stored results
python -m conformance.gap run          run again, as root: half an hour, with the kernel of `sojourn linux build`
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import sojourn as sj
from conformance.oracles.linux import RESULTS
from sojourn.core.stats import estimate

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "gap.md"
NAME = "hosts"
"""Its name in `RESULTS`."""
RUNS = 3
HOSTS = ("simulator", "linux", "live")
QUEUES = {
    "droptail": {"aqm": "droptail", "limit": "100 packets"},
    "codel": {"aqm": "codel"},
    "pie": {"aqm": "pie"},
    "cake": {"aqm": "cake"},
    "fuzzy-red": {"aqm": "fuzzy-red", "limit": "100 packets"},
}
CONTROLLERS = ("cubic", "bbr")
MEASURES = {
    "goodput": ("groups.download.goodput_bps", 1e-6, 2),
    "RTT": ("groups.download.rtt_ms.mean", 1.0, 1),
    "queue": ("links.line.queue.mean", 1.0, 1),
    "loss": ("links.line.loss_ratio", 100.0, 3),
}
"""The path of each measure, its factor to Mbit/s, ms, packets or percent, and its digits."""


def scenario(queue: str, controller: str, host: str) -> sj.Scenario:
    """The scenario of a case on a host. The kernels have their own BBR."""
    made = sj.load(ROOT / "examples" / "gap.toml")
    made.set("links.line.queue", QUEUES[queue])
    key = "linux" if controller == "bbr" and host != "simulator" else "cc"
    made.set("tcp.control", {key: controller})
    made.set("host", host)
    return made


def measured() -> dict[str, dict[str, list[float]]]:
    """The values of each measure, by case and host."""
    found = {}
    for controller in CONTROLLERS:
        for queue in QUEUES:
            for host in HOSTS:
                records = [sj.run(scenario(queue, controller, host), seed) for seed in range(1, RUNS + 1)]
                values = {
                    name: [record.value(path) or 0.0 for record in records] for name, (path, *_) in MEASURES.items()
                }
                found[f"{controller} {queue} {host}"] = values
                print(controller, queue, host, {name: sum(each) / RUNS for name, each in values.items()}, flush=True)
    return found


def table(found: dict[str, dict[str, list[float]]]) -> str:
    """The table: a row for each case and host, with 95 % intervals."""
    head = "| controller | queue | host | goodput (Mbit/s) | RTT (ms) | queue (packets) | loss (%) |"
    lines = [head, "|---|---|---|---:|---:|---:|---:|"]
    for case, values in found.items():
        cells = []
        for name, (_, factor, digits) in MEASURES.items():
            of = estimate([value * factor for value in values[name]])
            cells.append(f"{of.mean:.{digits}f} ± {of.half:.{digits}f}")
        lines.append(f"| {' | '.join([*case.split(), *cells])} |")
    return "\n".join(lines)


def written(page: str) -> str:
    """The page with the table of the stored results."""
    begin, end = "<!-- gap: begin -->\n", "\n<!-- gap: end -->"
    made = table(RESULTS.get(NAME)["cases"])
    return re.sub(f"{begin}.*?{end}", lambda _: begin + made + end, page, flags=re.DOTALL)


if __name__ == "__main__":
    if sys.argv[1:] == ["run"]:
        RESULTS.put(NAME, {"command": "python -m conformance.gap run", "cases": measured()})
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
