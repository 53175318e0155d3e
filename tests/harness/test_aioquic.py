"""aioquic over the simulated network."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import numpy as np
import pytest

import sojourn as sj
from sojourn import _sojourn, harness
from sojourn.cli import main

pytest.importorskip("aioquic", reason="aioquic is an extra: pip install 'sojourn[aioquic]'")

from sojourn.harness.aioquic import host


def network(duration: str = "3 s") -> harness.Dumbbell:
    return harness.Dumbbell("2 Mbit/s", "40 ms").limit("30 packets").duration(duration).flow("quic", "aioquic")


def digest(done: harness.Run) -> str:
    columns = [str(done.record["fingerprint"]), *(str(column.tolist()) for column in done.packets.values())]
    return hashlib.sha256("".join(columns).encode()).hexdigest()


def test_ten_runs_of_aioquic_beside_our_cubic_have_one_hash() -> None:
    runs = [harness.run(network("1 s").tcp("ours", "cubic"), {"aioquic": host("cubic")}) for _ in range(10)]
    assert len({digest(done) for done in runs}) == 1
    # Both share the link: neither starves in the first second, which begins with a handshake.
    assert all(runs[0].record.value(f"flows.{name}/0.goodput_bps") > 2e5 for name in ("quic", "ours"))


def test_aioquic_fills_a_link_and_reports_window_and_rtt() -> None:
    done = harness.run(network(), {"aioquic": host("cubic")})
    assert 1.5e6 < done.record.value("flows.quic/0.goodput_bps") < 2.0e6
    assert done.windows["quic/0"]["window_bytes"][0] == 12_000  # ten packets (rfc9002#7.2)
    assert done.record.value("flows.quic/0.rtt_ms.min") >= 40.0
    assert set(done.packets["size_bytes"].tolist()) >= {1228}


def test_a_transfer_completes_and_a_stopped_one_ends_early() -> None:
    def flow(**more: object) -> dict[str, object]:
        tree = sj.loads(network("4 s").to_toml()).to_dict()
        tree["flows"][0] |= more
        return tree

    done = sj.run(flow(traffic={"kind": "bulk", "size": "200 kB"}))["flows"][0]
    assert (done["completed"], done["goodput_bps"]) == (1, 200e3 * 8 / 4)
    stopped = sj.run(flow(stop="1 s"))["flows"][0]
    # What is in the network at 1 s still arrives: a queue of 30 packets is 0.15 s.
    assert 0.5 * 2e6 < stopped["goodput_bps"] * 4 < 1.15 * 2e6


def test_a_lost_packet_is_repaired() -> None:
    tree = sj.loads(network().to_toml()).to_dict()
    tree["flows"][0]["traffic"] = {"kind": "bulk", "size": "100 kB"}
    done = harness.run(tree, script=[harness.drop("quic/0", range(10, 14))])
    assert (done.packets["event"] == "dropped").sum() == 4
    assert done.record["flows"][0]["goodput_bps"] == 100e3 * 8 / 3


def test_the_command_line_runs_a_scenario_with_aioquic(tmp_path: Path, capsys) -> None:
    os.chdir(tmp_path)
    Path("q.toml").write_text(network("1 s").to_toml().replace('"aioquic"', '"aioquic:cubic"'))
    assert main(["check", "q.toml"]) == 0
    assert main(["run", "q.toml"]) == 0
    assert "│ quic" in capsys.readouterr().out
    assert main(["run", "q.toml", "--seeds", "2", "--json"]) == 0
    records = [sj.Record.from_json(line) for line in capsys.readouterr().out.splitlines()]
    assert [record["seed"] for record in records] == [1, 2]
    assert main(["run", "q.toml", "--pcap", "x.pcapng"]) == 2
    assert "host" in capsys.readouterr().err


@pytest.mark.parametrize("controller", _sojourn.driver_names())
def test_each_controller_of_the_registry_moves_data_in_aioquic(controller: str) -> None:
    done = harness.run(network(), {"aioquic": host(f"sojourn:{controller}")})
    # TCP-LP halves its window at the first queuing delay, here its own.
    assert done.record.value("flows.quic/0.goodput_bps") > (4e5 if controller == "tcp-lp" else 1e6)
    assert done.windows["quic/0"]["window_bytes"][0] == 12_000


def test_reno_of_the_registry_halves_its_window_in_aioquic_at_a_loss() -> None:
    run = harness.run(network("2 s"), {"aioquic": host("sojourn:reno")}, script=[harness.drop("quic/0", 100)])
    window = run.windows["quic/0"]["window_bytes"]
    first = np.flatnonzero(np.diff(window.astype(int)) < 0)[0]
    # The ACK that shows the loss acknowledges a packet of 1200 B first.
    assert window[first + 1] == (window[first] + 1200) / 2


def test_the_seed_of_a_flow_reaches_a_controller_that_draws_random_numbers() -> None:
    def fingerprint(seed: int) -> object:
        return harness.run(network("20 s"), {"aioquic": host("sojourn:bbr")}, seed=seed).record["fingerprint"]

    assert fingerprint(1) == fingerprint(1)
    assert fingerprint(1) != fingerprint(2)


def test_the_registrys_background_controller_yields_to_aioquics_cubic(tmp_path: Path, capsys) -> None:
    text = network("30 s").flow("background", "aioquic:sojourn:ledbat++").to_toml()
    file = tmp_path / "q.toml"
    file.write_text(text.replace('"aioquic"', '"aioquic:cubic"'))
    assert main(["run", str(file), "--json"]) == 0
    record = sj.Record.from_json(capsys.readouterr().out)
    cubic, background = (record.value(f"flows.{name}/0.goodput_bps") for name in ("quic", "background"))
    assert background < cubic / 3


def test_a_controller_that_aioquic_lacks_is_named(tmp_path: Path, capsys) -> None:
    file = tmp_path / "q.toml"
    file.write_text(network().to_toml().replace('"aioquic"', '"aioquic:cubik"'))
    assert main(["check", str(file)]) == 2
    assert 'got "cubik"; did you mean "cubic"?' in capsys.readouterr().err


def test_a_lost_connection_ends_the_run_in_one_line() -> None:
    with pytest.raises(sj.core.errors.RunError, match=r"^quic/0 sender \(aioquic\) at 1\.\d+ s: .*Idle timeout"):
        harness.run(network("5 s"), {"aioquic": host(idle_timeout=1.0)}, script=[harness.drop("quic/0", range(1, 99))])


def test_an_option_that_aioquic_lacks_is_named() -> None:
    with pytest.raises(sj.UserError, match=r"host: expected fields of aioquic's QuicConfiguration, got .*'mtu'"):
        host(mtu=1500)
