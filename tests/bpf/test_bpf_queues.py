"""Queue laws of `sojourn attach` on a real bottleneck.

It has 20 Mbit/s, a buffer of 300 ms, and an RTT of 40 ms.
"""

import os
import re
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

import sojourn as sj
from sojourn.bpf import build, owner, queues
from tests.support.namespaces import RECEIVER, Path3, Transfer, run, together
from tests.support.source_tree import ROOT

lacking = build.missing()
live = pytest.mark.skipif(lacking is not None, reason=f"BPF programs: {lacking}")
RATE = 20.0
BASE_MS = 40.0
LIMIT = int(RATE * 1e6 / 8 * 0.3)


@pytest.mark.parametrize("name", queues.LAWS)
def test_a_program_gets_as_many_constants_as_its_header_has(name: str) -> None:
    header = (build.SOURCES / f"{queues.LAWS[name].header}.h").read_text()
    body = re.search(r"struct law_params {(.*?)};", header, re.DOTALL)
    assert body is not None
    numbers = 3 + len(re.findall(r"^\t[us]64 \w+;", body[1], re.MULTILINE))
    constants = queues.constants(name, [], 1e7)
    table = 4 * int(constants.macros["MAX_TABLE"]) if "u32 table" in body[1] else 0
    assert len(constants.content) == 8 * numbers + table


def test_the_table_of_fuzzy_red_has_the_probabilities_of_its_rules() -> None:
    content = queues.constants("fuzzy-red", [], None).content
    rows, columns, fall = struct.unpack_from("=3Q", content, 3 * 8)
    values = [number / 2**31 for (number,) in struct.iter_unpack("=I", content[6 * 8 :])]
    # The slope at the set point of 30 packets is 0.89 percent a packet, a central difference.
    empty, below, above, full = (values[queue * (columns + 1) + fall] for queue in (0, 29, 31, rows))
    assert empty == 0
    assert (above - below) / 2 == pytest.approx(0.0089, abs=1e-4)
    assert full == pytest.approx(0.25, abs=1e-6)


@pytest.fixture(scope="module")
def path() -> Iterator[Path3]:
    made = Path3(BASE_MS / 1e3, f"tbf rate {RATE}mbit burst 3000 limit {LIMIT}")
    yield made
    made.close()


def at_router(path: Path3, *words: str) -> subprocess.CompletedProcess[str]:
    command = ["ip", "netns", "exec", path.router, sys.executable, "-m", "sojourn", *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT)


def reaches(path: Path3) -> bool:
    """Whether a packet reaches the receiver and its answer comes back."""
    command = ["ip", "netns", "exec", path.router, "ping", "-c", "1", "-W", "0.5", RECEIVER]
    return subprocess.run(command, capture_output=True).returncode == 0


def wait_until(holds: Callable[[], bool]) -> None:
    """Waits at most 10 s."""
    deadline = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < deadline


@live
def test_a_law_drops_packets_until_it_is_detached_or_its_owner_is_killed(path: Path3) -> None:
    for kill in (False, True):
        wait_until(lambda: reaches(path))
        done = at_router(path, "attach", "--aqm", "pd", "--dev", "out", "--set", "k3=100", "--set", "target=0")
        assert (done.returncode, done.stderr) == (0, "")
        wait_until(lambda: not reaches(path))  # the first packet starts the timer, which updates the law
        name = next(name for name in owner.attached() if name.endswith("-out"))
        if kill:
            os.kill(owner.process_of(name), signal.SIGKILL)
        else:
            assert at_router(path, "detach", "--dev", "out").stdout == f"{name}: detached\n"
    wait_until(lambda: reaches(path))


@live
def test_a_device_without_a_backlog_is_refused(path: Path3) -> None:
    done = at_router(path, "attach", "--aqm", "pd", "--dev", "in2")
    assert done.stderr.startswith('error: --dev: expected one of lo, in, out, got "in2"')
    done = at_router(path, "attach", "--aqm", "pd", "--dev", "lo")
    assert (done.returncode, done.stderr.strip()) == (
        2,
        "error: --dev: lo: expected a queue discipline that counts what waits, such as tbf, htb or pfifo, got noqueue",
    )


def simulated_rtt_ms(name: str) -> float:
    """The mean RTT of two CUBIC flows on the same path in the simulator."""
    back = {"queue": {"limit": "1000 packets"}}
    link = {"name": "link", "from": "a", "to": "b", "rate": f"{RATE} Mbit/s", "delay": f"{BASE_MS / 2} ms"}
    link |= {"duplex": True, "back": back, "queue": {"aqm": name, "limit": f"{LIMIT} B"}}
    flows = [{"name": "flow", "count": 2, "from": "a", "to": "b"}]
    tcp = {"profile": "linux", "control": {"cc": "cubic"}}
    scenario = {"duration": "30 s", "warmup": "5 s", "links": [link], "flows": flows, "tcp": tcp}
    return BASE_MS + float(sj.run(sj.Scenario(scenario), seed=1).links.iloc[0]["wait_ms.mean"])


@live
@pytest.mark.slow
@pytest.mark.parametrize("name", queues.LAWS)
def test_a_law_holds_the_queue_as_in_the_simulator(path: Path3, name: str) -> None:
    done = at_router(path, "attach", "--aqm", name, "--dev", "out", "--rate", f"{RATE} Mbit/s")
    assert done.returncode == 0, done.stderr
    transfers = [Transfer(path, "cubic", 15) for _ in range(2)]
    together(*transfers)
    assert at_router(path, "detach", "--dev", "out").returncode == 0
    assert sum(each.rate_mbps(4, 14) for each in transfers) > 0.6 * RATE
    # A machine that is busy with other tests delays packets by some milliseconds.
    found = sum(each.rtt_ms(4, 14) for each in transfers) / 2
    assert found == pytest.approx(simulated_rtt_ms(name), abs=20)


@live
@pytest.mark.slow
def test_without_a_law_the_buffer_fills(path: Path3) -> None:
    transfer = Transfer(path, "cubic", 8)
    together(transfer)
    assert transfer.rtt_ms(4, 7) > BASE_MS + 120


@live
@pytest.mark.slow
def test_with_ecn_packets_are_marked_instead_of_dropped(path: Path3) -> None:
    path.use_ecn(True)
    at_router(path, "attach", "--aqm", "fuzzy-red", "--dev", "out", "--set", "ecn=true")
    transfer = Transfer(path, "cubic", 10)
    together(transfer)
    path.use_ecn(False)
    run("ip", "netns", "exec", path.router, sys.executable, "-m", "sojourn", "detach", "--dev", "out")
    assert transfer.rtt_ms(4, 9) < BASE_MS + 40
    assert transfer.moments[-1].retransmissions == 0
