"""The tables of docs/measurements.md and the fields of a record are those of the engine."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

import sojourn as sj
from sojourn.core.record_schema import measure, parts, range_of, series_columns, tables, with_tables
from tests.support.source_tree import ROOT

PAGE = ROOT / "docs" / "measurements.md"

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
back = { queue = { scheduler = "strict", classes = [
  { match = { group = "bulk" }, aqm = "dualpi2", ack_filter = "filter" }, {},
] } }
impairments = [{ kind = "loss", probability = 0.001 }, { kind = "duplication", probability = 0.01 }]

[[media]]
name = "air"

[[links]]
name = "dual"
from = "b"
to = "c"
rate = "10 Mbit/s"
medium = "air"
queue = { aqm = "dualpi2", ecn = true, ack_filter = "filter" }
impairments = [{ kind = "tcp-option", option = "sack" }]
duplex = true

[[links]]
name = "traced"
from = "c"
to = "d"
trace = { file = "%s" }

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
to = "c"
traffic = { kind = "transfers", every = "200 ms", size_mean = "10 kB" }
tcp = { control = { cc = "prague" }, ecn = "l4s" }

[trace]
queue = { links = ["bottleneck", "dual"], every = "100 ms" }
cwnd = { flows = ["bulk/0"], every = "100 ms" }
throughput = { links = ["bottleneck"], flows = ["bulk/0"], every = "1 s" }
rtt = { flows = ["bulk/0"] }
wait = { links = ["bottleneck"] }
signals = { links = ["bottleneck"] }
completions = { flows = ["short/*"] }
controller = { flows = ["bulk/0"] }
retransmissions = { flows = ["bulk/0"] }
segments = { flows = ["bulk/0"] }
""".replace("%s", (PAGE.parents[1] / "examples" / "traces" / "leo.csv").as_posix())


def leaves(tree: dict[str, Any], path: str = "") -> Iterator[str]:
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{path}{key}.")
        elif isinstance(value, list) and value:
            yield from leaves(value[0], f"{path}{key}[].")
        else:
            yield f"{path}{key}"


def defined(part: str) -> set[str]:
    """The leaf fields of a part."""
    paths = set(parts()[part].fields)
    return {path for path in paths if not any(other.startswith((f"{path}.", f"{path}[].")) for other in paths)}


def test_the_tables_of_the_page_are_those_that_the_definitions_give() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert set(re.findall(r"<!-- measures: (\w+) -->", page)) == set(tables())
    assert with_tables(page) == page, "run: python scripts/measurements.py"


def numbers(tree: Any, path: str) -> Iterator[tuple[str, float]]:
    """Every number below a path, with its path."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from numbers(value, f"{path}.{key}")
    elif isinstance(tree, list):
        for i, value in enumerate(tree):
            yield from numbers(value, f"{path}.{i}")
    elif isinstance(tree, (int, float)):
        yield path, tree


def test_every_number_of_a_record_has_a_range_and_is_in_it() -> None:
    record = sj.run(sj.Scenario.from_toml(SCENARIO))
    found = [each for key, value in record.to_dict().items() if key != "series" for each in numbers(value, key)]
    assert len(found) > 100
    for path, value in found:
        known = range_of(path)
        assert known != sj.Range(), path
        assert known.low <= value <= known.high, (path, value, known)
    for name, table in record.series.items():
        for column, values in table.items():
            known = sj.Range(0) if column == "t" else series_columns(name.partition("/")[0])[column].range
            assert known.low >= 0, (name, column)
            assert all(known.low <= value <= known.high for value in values if value == value), (name, column)


@pytest.mark.parametrize(
    ("path", "high"),
    [
        ("links.bottleneck.utilization", 1),
        ('links."a.b".loss_ratio', 1),
        ("links.*.probability_mean", 1),
        ("groups.ftp.jain", 1),
        ("total.jain", 1),
        ("flows.0.rtt_ms.mean", float("inf")),
    ],
)
def test_the_definition_of_a_measure_gives_its_range(path: str, high: float) -> None:
    assert range_of(path) == sj.Range(0, high)
    assert sj.Measure("x", path, scale=100.0).range == sj.Range(0, 100 * high)


def test_every_field_of_a_record_is_defined_and_no_other() -> None:
    record = sj.run(sj.Scenario.from_toml(SCENARIO)).to_dict()
    record.pop("series", None)
    for part in ("links", "flows", "groups"):
        seen: set[str] = set()
        for each in record.pop(part):
            own = set(leaves({key: value for key, value in each.items() if value is not None}))
            # The queues of a class have the fields of those of a link.
            inner = {at for at in own if at.startswith("classes[].queues[].")}
            assert {at.removeprefix("classes[].") for at in inner} <= set(parts()[part].fields)
            seen |= (own - inner) | ({"classes[].queues"} if inner else set())
        assert seen == defined(part), f"{part}: {seen ^ defined(part)}"
    for part in ("total", "audit"):
        assert set(leaves(record.pop(part))) == defined(part)
    assert set(leaves(record)) == defined("run")


def test_every_series_has_the_columns_that_are_defined() -> None:
    series = sj.run(sj.Scenario.from_toml(SCENARIO)).series
    page = tables()["series"]
    kinds = {name.split("/")[0] for name in re.findall(r"^\| `([^`]+)` \|", page, re.MULTILINE)}
    assert {name.split("/")[0] for name in series} == kinds
    for name, columns in series.items():
        rows = [line for line in page.splitlines() if line.startswith(f"| `{name.split('/')[0]}/")]
        assert all(any(f"| `{column}` |" in row for row in rows) for column in columns if column != "t"), name


def test_a_measure_is_shown_in_the_unit_of_tables_and_plots() -> None:
    record = sj.run(sj.Scenario.from_toml(SCENARIO))
    utilization = measure("links", "utilization", "bottleneck")
    assert (utilization.label, utilization.unit) == ("utilization", "%")
    assert utilization.of(record) == 100 * record.value("links.bottleneck.utilization")
    assert measure("links", "wait_ms.p95", "bottleneck").label == "wait p95"
    assert measure("total", "goodput_bps").of(record) == record.value("total.goodput_bps") * 1e-6
    with pytest.raises(KeyError):
        measure("links", "wait_ms.p42", "bottleneck")
