"""Traces of links on the command line: made, shown, run."""

import numpy as np
import pytest

import sojourn as sj
from sojourn.cli import main
from sojourn.imports.link_traces import PROCESSES, Process, Step, summary, write
from tests.support.source_tree import ROOT

EXAMPLES = ROOT / "examples"
PROCESS = Process(duration_ms=4_050, every_ms=100, low_bps=1e6, high_bps=20e6, seed=3)


@pytest.mark.parametrize("kind", PROCESSES)
def test_a_trace_that_was_made_has_the_length_and_the_rates_that_were_asked_for(kind, tmp_path):
    path = write(tmp_path / "made.csv", PROCESSES[kind](PROCESS))
    found, means = summary(path, steps=10)
    assert found["period_s"] == pytest.approx(4.05)
    assert found["most_bps"] <= 20e6
    assert means.min() > 0.5e6
    assert (found["least_bps"] == 0) == (kind == "leo") == (found["most_loss"] > 0)
    again = write(tmp_path / "again.csv", PROCESSES[kind](PROCESS))
    assert again.read_bytes() == path.read_bytes()


def test_every_format_has_the_same_bits(tmp_path):
    steps = [Step(1000, 12_000_000), Step(500, 0), Step(1500, 3_000_000)]
    for name in ("a.up", "a.csv", "a.json"):
        found, means = summary(write(tmp_path / name, iter(steps)), steps=6)
        assert found["period_s"] == 3.0
        np.testing.assert_allclose(means, [12e6, 12e6, 0, 3e6, 3e6, 3e6], atol=24e3)  # two packets
    with pytest.raises(sj.UserError, match=r"expected a file that ends in \.csv for delays and losses"):
        write(tmp_path / "b.up", iter([Step(1000, 10**6, delay_us=5)]))
    with pytest.raises(sj.UserError, match="expected a trace in which a packet of 1500 bytes can be sent"):
        write(tmp_path / "b.up", iter([Step(1, 10**6)]))


def test_the_commands_make_and_show_a_trace(tmp_path, capsys):
    path = tmp_path / "made.csv"
    assert main(["trace", "make", str(path), "--kind", "leo", "--duration", "30 s", "--seed", "7"]) == 0
    assert main(["trace", "show", str(path)]) == 0
    said = capsys.readouterr().out
    for part in ("csv, 301 rows, 30 s, 0 to", "loss up to 0.5 %", "█"):
        assert part in said
    assert main(["trace", "show", str(path), "--out", str(tmp_path)]) == 0
    assert (tmp_path / "made-csv.png").exists()
    for arguments, error in [
        (
            ["make", str(path), "--kind", "leos"],
            'error: --kind: expected one of markov, walk, leo, got "leos"',
        ),
        (["make", str(path), "--low", "30 Mbit/s"], "error: --low: expected a rate of at most --high 20 Mbit/s"),
        (["make", str(path), "--every", "0.1 ms"], "error: --every: expected a time in whole ms"),
        (["make", str(path), "--duration", "5"], "error: --duration: expected a time with its unit"),
        (["make", str(path), "--high", "0 bit/s"], "error: --high: expected a rate with its unit"),
        (
            ["make", str(path), "--duration", "1000000 s", "--every", "1 ms"],
            "error: --every: expected at most 10,000,000",
        ),
        (["show", str(tmp_path / "none")], f"error: {tmp_path}/none: cannot read this trace: No such file"),
    ]:
        assert main(["trace", *arguments]) == 2
        said = capsys.readouterr().err
        assert said.startswith(error)
        assert said.count("\n") == 1


def test_the_example_uses_what_its_traces_can_carry():
    record = sj.run(str(EXAMPLES / "radio.toml"))
    lte = record.links.loc["lte"]
    assert 0.3 < lte["utilization"] <= 1
    mean = summary(EXAMPLES / "traces/lte.up")[0]["mean_bps"]
    assert lte["rate_bps"] == mean
    assert lte["throughput_bps"] < 1.5 * mean
    satellite = record["links"][2]
    assert satellite["name"] == "satellite"
    assert satellite["impairments"][0]["kind"] == "trace"
    assert satellite["impairments"][0]["dropped"] > 0


def test_a_file_that_is_not_there_cannot_be_read_and_one_row_is_no_rows(tmp_path, capsys):
    assert main(["trace", "show", str(tmp_path / "none.csv")]) == 2
    assert "none.csv: cannot read this trace: No such file" in capsys.readouterr().err
    (tmp_path / "one.csv").write_text("t_ms, rate_bps\n0, 1000000\n")
    assert main(["trace", "show", str(tmp_path / "one.csv")]) == 0
    assert "csv, 1 row, " in capsys.readouterr().out
