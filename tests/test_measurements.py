"""What docs/measurements.md says of a record is what a record has."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sojourn as sj

PAGE = Path(__file__).parent.parent / "docs" / "measurements.md"

SCENARIO = """
duration = "5 s"
warmup = "1 s"

[[links]]
name = "bottleneck"
from = "a"
to = "b"
rate = "2 Mbit/s"
delay = "5 ms"
queue = { aqm = "red", limit = "20 packets", min = 3, max = 9 }
duplex = true

[[flows]]
name = "bulk"
count = 2
from = "a"
to = "b"
traffic = { kind = "bulk" }
tcp = { control = { cc = "ledbat" } }

[[flows]]
name = "short"
from = "a"
to = "b"
traffic = { kind = "transfers", every = "200 ms", size_mean = "10 kB" }

[trace]
queue = { links = ["bottleneck"], every = "100 ms" }
cwnd = { flows = ["bulk/0"], every = "100 ms" }
throughput = { links = ["bottleneck"], flows = ["bulk/0"], every = "1 s" }
rtt = { flows = ["bulk/0"] }
"""


def documented() -> dict[str, set[str]]:
    """The fields of every section of the page that has a table of fields."""
    found: dict[str, set[str]] = {}
    section = ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section = re.sub(r"[`\[\]]", "", line[3:].split(":")[0]).strip()
        elif field := re.match(r"\| `([^`]+)` \|", line):
            found.setdefault(section, set()).add(field[1])
    return found


def leaves(tree: dict[str, Any], path: str = "") -> Iterator[str]:
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{path}{key}.")
        else:
            yield f"{path}{key}"


def test_the_page_defines_every_field_of_a_record_and_no_other() -> None:
    record = sj.run(sj.Scenario.from_toml(SCENARIO)).to_dict()
    record.pop("series", None)
    page = documented()
    for section in ("links", "flows", "groups"):
        seen: set[str] = set()
        for each in record.pop(section):
            seen |= set(leaves({key: value for key, value in each.items() if value is not None}))
        assert seen == page[section], f"{section}: {seen ^ page[section]}"
    for section in ("total", "audit"):
        assert set(leaves(record.pop(section))) == page[section]
    assert set(leaves(record)) == page["The run"]


def test_the_page_defines_every_series_and_its_columns() -> None:
    series = sj.run(sj.Scenario.from_toml(SCENARIO)).series
    kinds = {name.split("/")[0] for name in documented()["Series"]}
    assert {name.split("/")[0] for name in series} == kinds
    text = PAGE.read_text(encoding="utf-8")
    for name, columns in series.items():
        lines = [line for line in text.splitlines() if line.startswith(f"| `{name.split('/')[0]}/")]
        assert all(any(f"`{column}`" in line for line in lines) for column in columns if column != "t"), name
