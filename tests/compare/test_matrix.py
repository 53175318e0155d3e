"""`compare --matrix`: each controller next to each other one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sojourn as sj
from sojourn.cli import main
from sojourn.compare.matrix import MEASURES, pair_scenario
from sojourn.core.errors import UserError

pytestmark = pytest.mark.no_libraries
SHORT = ["--seeds", "2", "--no-cache", "--set", 'duration="20 s"', "--set", 'warmup="5 s"']


@pytest.fixture(scope="module")
def found() -> sj.Matrix:
    """Three controllers at one place."""
    scenario = pair_scenario().set("duration", "30 s").set("warmup", "10 s")
    return sj.compare_matrix("reno,cubic,ledbat++", scenario, seeds=3)


def test_the_row_takes_what_the_column_leaves(found):
    (place,) = found.places
    for row in found.controllers:
        for column in found.controllers:
            one, other = (found.cells[place, *pair]["share"] for pair in ((row, column), (column, row)))
            assert one.mean + other.mean == pytest.approx(100, abs=25)
    assert found.cells[place, "reno", "ledbat++"]["share"].low > 50, "LEDBAT++ yields"


def test_next_to_its_own_kind_a_controller_does_no_harm(found):
    (place,) = found.places
    for name in found.controllers:
        assert found.cells[place, name, name]["harm"].mean == 0
        assert found.cells[place, name, name]["delay"].mean == 0
    assert found.cells[place, "cubic", "ledbat++"]["harm"].mean > 20
    assert found.cells[place, "ledbat++", "reno"]["harm"].mean < 0


def test_the_same_seeds_give_the_same_matrix(found):
    scenario = pair_scenario().set("duration", "30 s").set("warmup", "10 s")
    assert sj.compare_matrix("reno,cubic,ledbat++", scenario, seeds=3, threads=1).rows() == found.rows()


def test_the_command_writes_a_picture_of_each_measure(tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["compare", "--matrix", "reno,cubic", *SHORT, "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "next to cubic" in shown
    assert "limit=0.25 BDP" in shown
    assert {f"{name}.{kind}" for name in MEASURES for kind in ("png", "pdf")} <= {each.name for each in out.iterdir()}
    lines = (out / "matrix.csv").read_text().splitlines()
    assert len(lines) == 1 + 6 * 2 * 2 * len(MEASURES)
    assert "\\begin{tabular}" in (out / "matrix.tex").read_text()


def test_places_and_the_network_can_be_replaced(tmp_path, capsys):
    vary = ["--vary", 'links.bottleneck.rate="5 Mbit/s","10 Mbit/s"']
    assert main(["compare", "--matrix", "reno,cubic", *SHORT, *vary, "--json"]) == 0
    places = {each["place"] for each in json.loads(capsys.readouterr().out)}
    assert len(places) == 2
    file = Path(tmp_path / "mine.toml")
    file.write_text(pair_scenario().set("links.bottleneck.rate", "8 Mbit/s").to_toml())
    assert main(["compare", str(file), "--matrix", "reno,cubic", *SHORT, "--json"]) == 0
    assert {each["place"] for each in json.loads(capsys.readouterr().out)} == {"as in the scenario"}


def test_a_controller_in_python_is_one_of_them(capsys):
    asked = ["compare", "--matrix", "reno", "--controller", "examples/controller.py:Additive", *SHORT, "--json"]
    vary = ["--vary", 'links.bottleneck.rate="5 Mbit/s"']
    assert main([*asked, *vary]) == 0
    assert {each["row"] for each in json.loads(capsys.readouterr().out)} == {"reno", "Additive"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--matrix", "reno"], "expected two controllers or more, got"),
        (["--matrix", "reno,cubik"], 'got "cubik"'),
        (["--matrix", "reno,cubic", "--queues", "red"], "--matrix: expected"),
        ([], "compare: expected a scenario file, or --matrix, got"),
    ],
)
def test_a_mistake_is_one_line(options, said, capsys):
    assert main(["compare", *options]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert len(error.splitlines()) == 1


def test_a_scenario_needs_two_groups():
    with pytest.raises(UserError, match="expected a scenario with two groups of flows, got"):
        sj.compare_matrix("reno,cubic", sj.load("examples/dumbbell.toml"))
