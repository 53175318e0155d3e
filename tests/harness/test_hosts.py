"""Stacks in Rust as hosts of scenarios: quinn, noq and s2n-quic."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sojourn as sj
from sojourn.cli import main
from sojourn.core.extras import BUILT, MissingExtraError, present
from sojourn.harness import Dumbbell
from sojourn.runs.stacks import STACKS

STACKS_IN_RUST = [name for name, stack in STACKS.items() if stack.package == "sojourn_stacks"]
built = pytest.mark.skipif(
    not present("sojourn_stacks"), reason=f"sojourn_stacks is built by `{BUILT['sojourn_stacks']}`"
)


def network(host: str, duration: str = "5 s") -> Dumbbell:
    return Dumbbell("10 Mbit/s", "40 ms").limit("60 packets").duration(duration).flow("quic", host)


def written(folder: Path, network: Dumbbell) -> str:
    file = folder / "quic.toml"
    file.write_text(network.to_toml(), encoding="utf-8")
    return str(file)


def records(capsys: pytest.CaptureFixture[str]) -> list[sj.Record]:
    return [sj.Record.from_json(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.skipif(present("sojourn_stacks"), reason="sojourn_stacks is built")
def test_a_module_that_is_not_built_is_one_line_with_the_command(tmp_path: Path, capsys) -> None:
    for command in ("check", "run"):
        assert main([command, written(tmp_path, network("quinn"))]) == 2
        error = capsys.readouterr().err
        assert error.endswith("sojourn_stacks is not built: run `make hosts` in a checkout of Sojourn's repository\n")
        assert error.count("\n") == 1


def test_the_error_of_a_module_that_no_extra_has_names_no_extra() -> None:
    assert "pip install" not in str(MissingExtraError("sojourn_stacks"))


@built
@pytest.mark.parametrize("stack", STACKS_IN_RUST)
def test_two_runs_of_a_stack_beside_our_cubic_are_equal_and_fill_the_link(stack: str, tmp_path: Path, capsys) -> None:
    file = written(tmp_path, network(stack).tcp("ours", "cubic"))
    assert main(["run", file, "--json"]) == 0
    first = capsys.readouterr().out
    assert main(["run", file, "--json"]) == 0
    assert capsys.readouterr().out == first
    record = sj.Record.from_json(first)
    goodputs = [record.value(f"flows.{name}/0.goodput_bps") for name in ("quic", "ours")]
    assert 8.5e6 < sum(goodputs) < 10e6
    assert min(goodputs) > 1e6


@built
@pytest.mark.parametrize("stack", STACKS_IN_RUST)
def test_each_controller_of_a_stack_moves_data(stack: str) -> None:
    import sojourn_stacks

    for controller in sojourn_stacks.controllers(stack):
        record = sj.run(sj.loads(network(f"{stack}:{controller}", "2 s").to_toml()))
        # LEDBAT in quinn stays at two packets, and an ACK of one can be 25 ms late (rfc9000#18.2).
        assert record.value("flows.quic/0.goodput_bps") > 1200 * 8 / (0.04 + 0.025), controller


@built
def test_seeds_give_records_of_their_own_and_the_controller_is_part_of_the_key(tmp_path: Path, capsys) -> None:
    file = written(tmp_path, network("noq", "1 s"))
    assert main(["run", file, "--seeds", "2", "--json"]) == 0
    assert [record["seed"] for record in records(capsys)] == [1, 2]
    prints = set()
    for host in ("noq", "noq:bbr3", "noq:sojourn:bbr3"):
        assert main(["run", file, "--set", f"flows.quic.host={host}", "--json"]) == 0
        prints.add(records(capsys)[0]["fingerprint"])
    assert len(prints) == 3


@built
def test_hosts_are_an_axis_of_a_sweep(tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, network("quinn", "1 s"))
    text = 'scenario = "quic.toml"\n[axes]\n"flows.quic.host" = ["quinn", "noq"]\n'
    Path("sweep.toml").write_text(text, encoding="utf-8")
    assert main(["sweep", "sweep.toml"]) == 0
    assert "noq" in capsys.readouterr().out


@built
def test_stacks_and_queues_are_compared_with_the_simulator(tmp_path: Path, capsys) -> None:
    vary = ["--vary", "flows.quic.host=simulator,quinn,noq", "--queues", "droptail,codel"]
    assert main(["compare", written(tmp_path, network("quinn", "10 s")), *vary, "--seeds", "1", "--json"]) == 0
    cases = json.loads(capsys.readouterr().out)["cases"]
    assert len(cases) == 6
    for host in ("simulator", "quinn", "noq"):
        droptail, codel = (
            case["links.bottleneck.wait_ms.mean"]["mean"] for name, case in cases.items() if host in name
        )
        assert codel < droptail, host


@built
def test_an_unknown_controller_is_one_line_with_the_nearest_names(tmp_path: Path, capsys) -> None:
    near = {"quinn:cubik": "cubic", "noq:sojourn:ledbat+": "sojourn:ledbat++", "s2n-quic:reno": "sojourn:reno"}
    for host, name in near.items():
        assert main(["check", written(tmp_path, network(host))]) == 2
        error = capsys.readouterr().err
        assert "flows.quic.host" in error
        assert name in error
        assert error.count("\n") == 1


@built
def test_a_lost_connection_ends_the_run_in_one_line(tmp_path: Path, capsys) -> None:
    tree = sj.loads(network("quinn", "60 s").to_toml()).to_dict()
    tree["links"][0]["impairments"] = [{"kind": "outage", "at": "1 s", "length": "50 s"}]
    file = tmp_path / "outage.json"
    file.write_text(json.dumps(tree), encoding="utf-8")
    assert main(["run", str(file)]) == 1
    error = capsys.readouterr().err
    assert "quic/0 receiver (quinn) at 31." in error  # quinn's idle timeout is 30 s
    assert "the connection is lost: timed out" in error
    assert error.count("\n") == 1
