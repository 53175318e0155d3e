"""Axes with quantities are numbers in base units: in tables, files and xarray."""

import pandas as pd
import pyarrow.parquet as pq
import pytest

import sojourn as sj
from sojourn.cli import main
from sojourn.core.quantities import axis_text, base_quantity, common_unit, shown_scale
from tests.conftest import DUMBBELL

RATE, LIMIT = "links.bottleneck.rate", "links.bottleneck.queue.limit"
AXES = f'axes."{RATE}" = ["500 kbit/s", "2 Mbit/s"]\naxes."{LIMIT}" = ["20 packets", "40 packets"]\n'


@pytest.fixture(scope="module")
def swept() -> sj.SweepResult:
    axes = {
        RATE: ["500 kbit/s", "2 Mbit/s"],
        LIMIT: ["20 packets", "0.1 s"],
        "links.bottleneck.delay": ["10 ms"],
        "flows.ftp.count": [1, 2],
    }
    return sj.sweep(sj.loads(DUMBBELL), axes)


def test_an_axis_with_quantities_of_one_kind_is_in_its_base_unit(swept):
    assert swept.units == {RATE: "bit/s", "links.bottleneck.delay": "s"}
    assert sorted(set(swept.runs[RATE])) == [5e5, 2e6]
    assert set(swept.runs["links.bottleneck.delay"]) == {0.01}
    assert set(swept.runs[LIMIT]) == {"20 packets", "0.1 s"}  # no common unit
    assert swept.runs["flows.ftp.count"].dtype == int
    assert swept.runs.attrs["units"] == swept.summary().attrs["units"] == swept.units


def test_xarray_has_numbers_as_coordinates_with_their_units(swept):
    data = swept.to_xarray()
    assert list(data[RATE].values) == [5e5, 2e6]
    assert data[RATE].attrs["units"] == "bit/s"
    assert "units" not in data["flows.ftp.count"].attrs


def test_files_have_numbers_with_units_and_plots_read_them(here, capsys):
    (here / "s.toml").write_text(DUMBBELL)
    (here / "sweep.toml").write_text(f'scenario = "s.toml"\n{AXES}')
    assert main(["sweep", "sweep.toml", "--out", "found"]) == 0
    assert "500 kbit/s" in capsys.readouterr().out
    runs = pq.read_table(here / "found" / "runs.parquet")
    assert sorted(set(runs[RATE].to_pylist())) == [5e5, 2e6]
    assert runs.schema.field(RATE).metadata == {b"unit": b"bit/s"}
    head = list(pd.read_csv(here / "found" / "summary.csv").columns)
    assert head[:2] == [f"{RATE} (bit/s)", f"{LIMIT} (packets)"]
    table = (here / "found" / "table.tex").read_text()
    assert table.count("500 kbit/s") == 2
    assert r"utilization (\%)" in table
    assert main(["plot", "found", "--kind", "heat", "--measure", "links.bottleneck.queue.mean"]) == 0


def test_a_comparison_has_numbers_too(dumbbell):
    found = sj.compare(dumbbell, vary={RATE: ["500 kbit/s", "2 Mbit/s"]}, seeds=1)
    assert found.units == {RATE: "bit/s"}
    assert list(found.runs()[RATE]) == [5e5, 2e6]


def test_quantities_are_read_and_shown_as_scenarios_write_them():
    for text, (value, unit) in {
        "10 Mbit/s": (1e7, "bit/s"),
        "20 ms": (0.02, "s"),
        "1 packet": (1.0, "packets"),
        "1.5 BDP": (1.5, "BDP"),
        "52.2 kB": (52_200.0, "B"),
    }.items():
        assert base_quantity(text) == (value, unit)
        assert base_quantity(axis_text(value, unit)) == (value, unit)
    assert base_quantity("red") is base_quantity("packets") is None
    assert common_unit(["1 s", 2]) is None
    assert shown_scale("bit/s", [5e5, 2e7]) == (1e6, "Mbit/s")
