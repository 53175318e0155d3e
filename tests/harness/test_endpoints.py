"""Endpoints in Python over a network, scripts, and faults that end a run."""

from __future__ import annotations

import numpy as np
import pytest

import sojourn as sj
from sojourn import harness
from sojourn.cli import main
from sojourn.core.errors import RunError
from sojourn.runs.stacks import STACKS

PAYLOAD = 972  # 1000 B on the wire


class Window(harness.Endpoint):
    """Keeps `window` datagrams in flight; the other end answers each with an empty one."""

    def __init__(self, window: int = 0) -> None:
        self.window, self.flying, self.writes, self.answers, self.read, self.marked = window, 0, False, 0, 0, 0

    def write(self, now, size, last):
        self.writes = True

    def stop(self, now):
        self.writes = False

    def receive(self, now, payload, ecn):
        self.marked += ecn == harness.Ecn.CE
        self.read += len(payload)
        if self.window:
            self.flying -= 1
        else:
            self.answers += 1

    def transmit(self, now):
        if self.answers:
            self.answers -= 1
            return b""
        if self.writes and self.flying < self.window:
            self.flying += 1
            return bytes(PAYLOAD), harness.Ecn.ECT0
        return None

    def state(self):
        return harness.State(window=self.window * 1000 or None, delivered=self.read)


def fixed(window: int) -> harness.Host:
    return lambda name, seed: (Window(window), Window())


def one(duration: str = "10 s") -> harness.Dumbbell:
    return harness.Dumbbell("10 Mbit/s", "40 ms").duration(duration).flow("a", "fixed")


def test_a_window_of_half_the_path_fills_half_the_link() -> None:
    # 25 packets of 1000 B in a round trip of 40 ms and 0.8 ms are 4.9 Mbit/s on the wire.
    done = harness.run(one(), {"fixed": fixed(25)})
    assert done.record.value("flows.a/0.goodput_bps") == pytest.approx(25 * PAYLOAD * 8 / 0.0408, rel=0.01)
    assert done.windows["a/0"]["window_bytes"].tolist() == [25_000]


def test_the_series_of_a_flow_has_what_its_application_reads() -> None:
    trace = {"throughput": {"flows": ["a/0"], "every": "1 s"}}
    done = harness.run(sj.loads(one().to_toml()).set("trace", trace), {"fixed": fixed(25)})
    series = done.record.series["throughput/a/0"]["bps"]
    assert series.mean() == pytest.approx(done.record.value("flows.a/0.goodput_bps"), rel=1e-6)
    assert series.min() > 4.6e6


def test_a_run_repeats_and_each_packet_arrives_or_is_dropped() -> None:
    network = one("2 s").limit("20 packets").tcp("ours", "cubic")
    first, second = (harness.run(network, {"fixed": fixed(90)}, seed=3) for _ in range(2))
    assert first.record["fingerprint"] == second.record["fingerprint"]
    for name, column in first.packets.items():
        assert np.array_equal(column, second.packets[name]), name
    count = {event: int((first.packets["event"] == event).sum()) for event in ("sent", "arrived", "dropped")}
    assert count["dropped"] > 0  # 90 packets do not fit a path of 50 and a queue of 20
    assert 0 <= count["sent"] - count["arrived"] - count["dropped"] <= 90


def test_a_script_drops_marks_and_delays_the_packets_that_it_names() -> None:
    script = [harness.drop("a/0", 1), harness.mark("a/0", 2), harness.delay("a/0", range(3, 4), 0.1)]
    done = harness.run(one("1 s"), {"fixed": fixed(4)}, script=script)
    packets = done.packets

    def row(number: int, event: str) -> np.ndarray:
        return np.flatnonzero((packets["number"] == number) & (packets["event"] == event))

    assert (row(1, "dropped").size, row(1, "arrived").size) == (1, 0)
    assert packets["marked"][row(2, "arrived")]
    assert not packets["marked"][row(4, "arrived")]
    assert packets["at_s"][row(3, "arrived")] >= 0.12  # 100 ms of the script and 20 ms of the path


def test_rules_for_acks_count_packets_of_the_receiver() -> None:
    done = harness.run(one("1 s"), {"fixed": fixed(4)}, script=[harness.drop("a/0", range(1, 5), acks=True)])
    dropped = done.packets["event"] == "dropped"
    assert done.packets["back"][dropped].tolist() == [True] * 4
    assert int((done.packets["event"] == "sent").sum()) == 8  # a window of 4 whose ACKs are lost


def test_marks_of_a_queue_reach_the_receiver() -> None:
    ends: list[Window] = []

    def made(name: str, seed: int) -> tuple[Window, Window]:
        ends.extend((Window(200), Window()))
        return ends[0], ends[1]

    harness.run(one().queue("codel").ecn(), {"fixed": made})
    assert ends[1].marked > 0


def test_each_flow_gets_its_own_seed_and_the_same_in_each_run() -> None:
    def seeds() -> dict[str, int]:
        found: dict[str, int] = {}

        def made(name: str, seed: int) -> tuple[Window, Window]:
            found[name] = seed
            return Window(2), Window()

        harness.run(one("1 s").flow("b", "fixed"), {"fixed": made}, seed=7)
        return found

    assert list(seeds()) == ["a/0", "b/0"]
    assert len(set(seeds().values())) == 2
    assert seeds() == seeds()


class Broken(harness.Endpoint):
    """Breaks one rule at its first write."""

    def __init__(self, fault: str) -> None:
        self.fault = fault

    def write(self, now, size, last):
        if self.fault == "raises":
            raise ZeroDivisionError("no window")

    def receive(self, now, payload, ecn):
        pass

    def transmit(self, now):
        return {"large": bytes(70_000), "endless": b"x", "text": "x", "ecn": (b"x", 7)}.get(self.fault)

    def timeout(self):
        return {"past": 0.0, "nan": float("nan")}.get(self.fault)

    def state(self):
        return {"state": 5}.get(self.fault)


DATAGRAM = "transmit: expected bytes, (bytes, ECN codepoint) or None"
FAULTS = {
    "raises": "write: expected a return, got ZeroDivisionError: no window",
    "large": "expected a datagram of at most 65507 bytes, got 70000",
    "endless": "expected at most 100000 datagrams at one time, got more",
    "past": "expected a timer after this time, got the same 1000 times",
    "nan": "timeout: expected a time in seconds or None, got nan",
    "text": f"{DATAGRAM}, got 'x'",
    "ecn": f"{DATAGRAM}, got (b'x', 7)",
    "state": "state: expected a State or None, got 5",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_an_endpoint_that_breaks_a_rule_ends_the_run_in_one_line_with_place_and_rule(fault: str) -> None:
    with pytest.raises(RunError) as caught:
        harness.run(one(), {"fixed": lambda name, seed: (Broken(fault), Window())})
    assert str(caught.value) == f"a/0 sender (fixed) at 0.000000 s: {FAULTS[fault]}"
    assert isinstance(caught.value.__cause__, ZeroDivisionError) == (fault == "raises")


def test_a_host_that_makes_no_pair_is_named_with_its_flow() -> None:
    with pytest.raises(RunError, match=r"^a/0 sender \(fixed\) at 0.000000 s: expected a sender and a receiver"):
        harness.run(one(), {"fixed": lambda name, seed: None})


def test_an_interrupt_passes_through() -> None:
    class Interrupted(Window):
        def write(self, now, size, last):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        harness.run(one(), {"fixed": lambda name, seed: (Interrupted(), Window())})


def test_a_timer_is_called_when_it_has_expired() -> None:
    called: list[tuple[float, float]] = []

    class Timer(Window):
        due = 0.1

        def timeout(self):
            return self.due

        def on_timeout(self, now):
            called.append((self.due, now))
            self.due += 1 / 3

    harness.run(one(), {"fixed": lambda name, seed: (Timer(1), Window())})
    assert len(called) == 30
    assert all(due <= now < due + 2e-9 for due, now in called)


def test_a_wrong_packet_number_or_time_of_a_rule_is_refused() -> None:
    for packets in (0, range(0), range(1, 9, 2)):
        with pytest.raises(sj.UserError, match="packets: expected a number from 1"):
            harness.drop("a/0", packets)
    with pytest.raises(sj.UserError, match="seconds: expected 0 or more, got nan"):
        harness.delay("a/0", 1, float("nan"))


NAMES = ", ".join(STACKS)
UNKNOWN = 'flows.a.host: expected one of {}{}, got "{}"; {}other stacks need a program with the crate sojourn-harness'


def test_a_host_that_nobody_supplies_is_named() -> None:
    with pytest.raises(sj.ScenarioError) as caught:
        harness.run(harness.Dumbbell("10 Mbit/s", "40 ms").flow("a", "fixd"), {"fixed": fixed(1)})
    assert str(caught.value) == UNKNOWN.format("fixed, ", NAMES, "fixd", 'did you mean "fixed"?; ')


def test_commands_name_a_host_that_they_do_not_have(tmp_path, capsys) -> None:
    file = tmp_path / "a.toml"
    file.write_text(harness.Dumbbell("10 Mbit/s", "40 ms").flow("a", "lsquic").to_toml())
    sweep = tmp_path / "sweep.toml"
    sweep.write_text('scenario = "a.toml"\n[axes]\nduration = ["1 s", "2 s"]\n')
    for command in (["check", str(file)], ["run", str(file)], ["check", str(sweep)]):
        assert main(command) == 2
        error = capsys.readouterr().err
        assert UNKNOWN.format("", NAMES, "lsquic", 'did you mean "s2n-quic"?; ') in error
        assert error.count("\n") == 1


def test_the_host_simulator_is_the_default_and_no_host_of_a_linux_scenario() -> None:
    tree = sj.loads(harness.Dumbbell("10 Mbit/s", "40 ms").duration("2 s").tcp("a", "cubic").to_toml()).to_dict()
    default = sj.run(tree)["fingerprint"]
    tree["flows"][0]["host"] = "simulator"
    assert sj.run(tree)["fingerprint"] == default
    with pytest.raises(sj.ScenarioError, match=r'flows.a.host: expected none, got "simulator" on a Linux host'):
        sj.load(tree | {"host": "linux"}).resolved()
