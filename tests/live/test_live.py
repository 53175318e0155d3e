"""Live runs between network namespaces. These tests need Linux, root and TUN."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import sojourn as sj
from sojourn.cli import main
from sojourn.core.errors import RunError, UserError
from sojourn.live.namespaces import HostNamespace, missing
from sojourn.live.session import Program, Session, program_at
from sojourn.runs.hosts import Host, on_host

pytestmark = pytest.mark.skipif(bool(missing()), reason=f"live runs: {missing()}")

LINE = """
name     = "line"
duration = "20 s"

[[links]]
name   = "line"
from   = "a"
to     = "b"
rate   = "20 Mbit/s"
delay  = "10 ms"
queue  = { limit = "50 packets" }

[[links]]
name  = "back"
from  = "b"
to    = "a"
delay = "10 ms"

[[flows]]
name = "up"
from = "a"
to   = "b"
"""

PING = """
[[flows]]
name = "ping"
from = "a"
to = "b"
traffic = { kind = "ping", every = "50 ms" }
"""

SERVER = """
import socket, sys
server = socket.create_server(("", 9000))
while True:
    connection, _ = server.accept()
    while connection.recv(1 << 20):
        pass
    connection.close()
"""
CLIENT = """
import socket, sys, time
connection = socket.socket()
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
connection.connect((sys.argv[1], 9000))
until = time.monotonic() + float(sys.argv[2])
while time.monotonic() < until:
    connection.send(bytes(1 << 16))
"""
ECHO = """
import socket
echo = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
echo.bind(("", 9000))
while True:
    echo.sendto(*echo.recvfrom(2000))
"""
PROBE = """
import socket, sys, time
probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
probe.connect((sys.argv[1], 9000))
times = []
for number in range(20):
    start = time.monotonic()
    probe.send(bytes(100))
    probe.recv(2000)
    times.append((time.monotonic() - start) * 1e3)
    time.sleep(0.01)
print(*times)
"""


def python(code: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", code, *arguments]


def record_of(text: str, program: Program, *servers: Program) -> tuple[sj.Record, str]:
    """The record of a run with a program, and what the program printed."""
    scenario = on_host(sj.loads(text), Host.LIVE)
    with Session(scenario) as session:
        session.begin()
        for server in servers:
            session.start(server)
        while not all(session.host(name).is_listening() for name, _ in servers):
            time.sleep(0.02)
        process = session.start(program, stdout=subprocess.PIPE)
        printed, _ = process.communicate()
        return session.record(), printed.decode()


def new_traces(before: set[str]) -> list[str]:
    """What there is now and was not before."""
    return sorted(traces_of_runs() - before)


def traces_of_runs() -> set[str]:
    """What a run may leave: devices, namespaces, routes, and processes of this program."""
    namespaces = set()
    for path in Path("/proc").glob("[0-9]*/ns/net"):
        try:
            namespaces.add(os.readlink(path))
        except OSError:
            continue
    links = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True).stdout
    routes = subprocess.run(["ip", "route", "show", "table", "all"], capture_output=True, text=True, check=True).stdout
    devices = re.findall(r"^\d+: ([^:@]+)", links, re.MULTILINE)
    return {*namespaces, *devices, *routes.splitlines(), *(f"process {each}" for each in marked_processes())}


MARK = "sojourn-live-test"


def marked_processes() -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if MARK.encode() in path.read_bytes() and int(path.parent.name) != os.getpid():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def test_a_datagram_needs_the_delays_and_the_transmission_of_the_path() -> None:
    record, printed = record_of(LINE, ("a", python(PROBE, "{peer}")), ("b", python(ECHO)))
    # 128 B take 51 us at 20 Mbit/s.
    times = [float(word) for word in printed.split()]
    assert min(times) >= 20.05
    assert sorted(times)[len(times) // 2] < 30
    assert record.value("links.line.arrived") == 20


def test_tcp_fills_the_link_and_is_accounted_for() -> None:
    record, _ = record_of(LINE, ("a", python(CLIENT, "{peer}", "4")), ("b", python(SERVER)))
    # The client sends for 4 s. It starts after the run.
    assert record.value("links.line.utilization") * record["duration_s"] > 0.75 * 4
    carried, payload = record.value("groups.up.goodput_bps") * record["duration_s"], 1448 / 1500 * 20e6
    assert 0.75 * 4 * payload < carried <= record["duration_s"] * payload
    assert record.value("groups.up.rtt_ms.min") >= 20
    assert record.value("links.line.queue.max") <= 50
    audit = record["audit"]
    assert audit["sent"] == audit["delivered"] + audit["dropped"]
    assert audit["in_flight"] == 0


def test_the_kernel_of_the_receiver_sees_every_mark_and_accepts_every_checksum(tmp_path: Path) -> None:
    text = LINE.replace('limit = "50 packets"', 'aqm = "codel", ecn = true, limit = "500 packets"')
    scenario = on_host(sj.loads(text), Host.LIVE)
    with Session(scenario) as session:
        session.begin()
        for host in session.hosts.values():
            host.set_ecn(True)
        session.start(("b", python(SERVER)))
        while not session.host("b").is_listening():
            time.sleep(0.02)
        session.start(("a", python(CLIENT, "{peer}", "4"))).wait()
        counters = session.host("b").call(lambda: Path("/proc/thread-self/net/netstat").read_text(encoding="ascii"))
        snmp = session.host("b").call(lambda: Path("/proc/thread-self/net/snmp").read_text(encoding="ascii"))
        record = session.record()
    seen, errors = kernel_counter(counters, "IpExt", "InCEPkts"), kernel_counter(snmp, "Ip", "InHdrErrors")
    assert seen == record.value("links.line.marked") > 0
    assert errors == kernel_counter(snmp, "Tcp", "InCsumErrors") == 0


def kernel_counter(text: str, table: str, name: str) -> int:
    names, values = (line.split()[1:] for line in text.splitlines() if line.startswith(f"{table}:"))
    return int(dict(zip(names, values, strict=True))[name])


def test_the_scenarios_own_flows_use_the_kernels_tcp() -> None:
    text = LINE.replace('"20 s"', '"4 s"').replace(
        "[[flows]]", '[tcp]\nprofile = "linux"\ncontrol = { cc = "cubic" }\n[[flows]]'
    )
    text += (
        PING
        + """
[[flows]]
name = "calls"
from = "a"
to = "b"
traffic = { kind = "cbr", rate = "1 Mbit/s", size = "500 B" }

[trace]
cwnd = { flows = ["up/0"], every = "100 ms" }
"""
    )
    record = sj.run(sj.loads(text.replace("duration", 'host = "live"\nduration')))
    assert record["host"]["name"] == "live"
    sender = record.flows.iloc[0]
    # The buffer of 50 packets overflows at the end of slow start.
    assert 0 < sender["fast_retransmits"] <= sender["retransmitted"]
    assert sender["timeouts"] == 0
    assert record.value("links.line.utilization") > 0.6
    assert record.value("groups.calls.throughput_bps") == pytest.approx(1e6, rel=0.1)
    assert record.value("groups.ping.rtt_ms.min") >= 20
    assert max(record.series["cwnd/up/0"]["packets"]) > 10


@contextmanager
def running(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    program = [sys.executable, "-m", "sojourn", "live", *arguments]
    process = subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def leaves_nothing(tmp_path: Path, kills: int) -> None:
    (tmp_path / "line.toml").write_text(LINE, encoding="utf-8")
    # The program leaves its session and its parent, as a daemon does.
    daemon = f'import os, time; os.fork() or os.setsid(); os.fork(); "{MARK}"; time.sleep(600)'
    server, file = f"--at=b={shlex.join(python(daemon))}", str(tmp_path / "line.toml")
    before = traces_of_runs()
    for kill in range(kills):
        with running(file, server, "--", *python(daemon)) as run:
            time.sleep(0.3 + 0.7 * kill / max(kills - 1, 1))
            os.kill(run.pid, signal.SIGKILL)
    until = time.monotonic() + 20
    while new_traces(before) and time.monotonic() < until:
        time.sleep(0.2)
    assert new_traces(before) == []


def test_a_killed_run_leaves_nothing(tmp_path: Path) -> None:
    leaves_nothing(tmp_path, 3)


@pytest.mark.slow
def test_fifty_killed_runs_leave_nothing(tmp_path: Path) -> None:
    leaves_nothing(tmp_path, 50)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--", "no-such-program"], 'host a: expected a program, got "no-such-program", which is not installed'),
        (["--at", "c=true", "--", "true"], '--at: expected one of a, b, got "c"'),
        (["--at", "b", "--", "true"], "--at: expected HOST=COMMAND, such as b='iperf3 -s', got \"b\""),
        (["--at", "b=true"], '--at: expected a program after --, or --shell, beside it, got "b=true"'),
        (["--shell", "--", "true"], '--shell: expected no program beside it, got "true"'),
        (["--set", "links.line.queue.linux='codel'", "--", "true"], "queue"),
    ],
)
def test_wrong_input_is_one_line(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "line.toml").write_text(LINE, encoding="utf-8")
    assert main(["live", str(tmp_path / "line.toml"), *arguments]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_the_exit_code_of_a_program_that_fails_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "line.toml").write_text(LINE, encoding="utf-8")
    assert main(["live", str(tmp_path / "line.toml"), "--json", "--", "sh", "-c", "sleep 0.2; exit 3"]) == 1
    told = capsys.readouterr()
    assert "the program ended with exit code 3" in told.err
    assert json.loads(told.out)["host"]["name"] == "live"


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="needs setpriv")
def test_without_the_rights_of_root_a_line_says_what_is_missing() -> None:
    code = "from sojourn.live.namespaces import missing; print(missing())"
    guarded = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", sys.executable, "-c", code]
    printed = subprocess.run(guarded, capture_output=True, text=True, check=True).stdout
    assert "expected the right to make network namespaces, as root has" in printed


def test_a_run_that_ends_before_its_warm_up_is_an_error(tmp_path: Path) -> None:
    with pytest.raises((RunError, UserError, sj.ScenarioError), match="warmup: expected a run longer than 5 s"):
        record_of(LINE.replace('"20 s"', '"20 s"\nwarmup = "5 s"'), ("a", ["true"]))


def test_a_host_is_named_with_its_command() -> None:
    assert program_at("b=iperf3 -s -p '5 6'") == ("b", ["iperf3", "-s", "-p", "5 6"])


def test_a_host_without_rights_to_a_device_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sojourn.live.namespaces.TUN", Path("/dev/null"))
    with pytest.raises(RunError, match="host a: "):
        HostNamespace("a", ("10.77.0.1", "fd77::1"), ("10.77.0.0/16", "fd77::/112"), 1500)
