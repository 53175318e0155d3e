"""A bridge between two interfaces. These tests need Linux, root and veth."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

import sojourn as sj
from sojourn.cli import main
from sojourn.live.namespaces import _unshare, missing
from tests.live.test_live import CLIENT, ECHO, PROBE, SERVER, python

pytestmark = pytest.mark.skipif(bool(missing()), reason=f"live runs: {missing()}")

ROUTER = """
name     = "router"
duration = "60 s"

[[links]]
name   = "up"
from   = "inside"
to     = "modem"
rate   = "20 Mbit/s"
queue  = { aqm = "fq-codel", ecn = true }
duplex = true
back   = { rate = "50 Mbit/s" }

[[flows]]
name = "upload"
from = "inside"
to   = "modem"

[[flows]]
name = "download"
from = "modem"
to   = "inside"
"""


class Box:
    """A network namespace that a thread holds."""

    def __init__(self) -> None:
        self.thread = ThreadPoolExecutor(1)
        self.thread.submit(_unshare).result()
        self.id = self.thread.submit(lambda: os.readlink("/proc/thread-self").rpartition("/")[2]).result()
        self.run("ip link set lo up")

    def run(self, *commands: str) -> None:
        for command in commands:
            self.thread.submit(subprocess.run, command.split(), check=True, capture_output=True).result()

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return self.thread.submit(
            lambda: subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        ).result()

    def packet_sockets(self) -> int:
        path = Path("/proc/thread-self/net/packet")
        return len(self.thread.submit(path.read_text).result().splitlines()) - 1


def wait_for(done: Callable[[], bool]) -> None:
    """Waits until something holds, at most half a minute."""
    until = time.monotonic() + 30
    while not done():
        assert time.monotonic() < until
        time.sleep(0.05)


@contextmanager
def three_boxes() -> Iterator[tuple[Box, Box, Box]]:
    """A home, a box with two interfaces, and a modem, as veth pairs connect them."""
    home, box, modem = Box(), Box(), Box()
    try:
        for host, name, address in ((home, "inside", "192.168.7.1"), (modem, "outside", "192.168.7.2")):
            box.run(f"ip link add {name} type veth peer name eth0 netns {host.id}", f"ip link set {name} up")
            host.run(f"ip address add {address}/24 dev eth0", "ip link set eth0 up")
            host.thread.submit(_whole_frames).result()
        yield home, box, modem
    finally:
        for each in (home, box, modem):
            each.thread.shutdown()


def _whole_frames() -> None:
    """Lets `eth0` send frames with checksums, none larger than the wire takes."""
    from sojourn.live.bridge import _ethtool

    for command in (0x17, 0x1F, 0x24):  # checksums, TSO, GSO
        _ethtool("eth0", command, 0)


def test_a_bridge_shapes_what_passes_between_its_interfaces(tmp_path: Path) -> None:
    file, out = tmp_path / "router.toml", tmp_path / "out"
    file.write_text(ROUTER, encoding="utf-8")
    with three_boxes() as (home, box, modem):
        arguments = ["live", str(file), "--bridge", "inside", "outside", "--out", str(out)]
        bridge = box.start(sys.executable, "-m", "sojourn", *arguments)
        servers = [modem.start(*python(SERVER)), modem.start(*python(ECHO))]
        wait_for(lambda: box.packet_sockets() == 2)
        time.sleep(0.5)
        home.start(*python(PROBE, "192.168.7.2")).wait(30)
        home.start(*python(CLIENT, "192.168.7.2", "4")).wait(30)
        bridge.send_signal(signal.SIGINT)
        _, said = bridge.communicate(timeout=60)
        for server in servers:
            server.kill()
    assert bridge.returncode == 0, said
    record = sj.Record.read(out)
    carried = record.value("groups.upload.goodput_bps") * record["duration_s"]
    # Four seconds at 20 Mbit/s, of which 1448 B of 1500 B are payload.
    assert 0.6 * 4 * 20e6 < carried <= 4.3 * 20e6
    assert record.value("links.up.dropped_total") > 0
    assert record["host"]["pace"]["malformed"] == 0


def test_an_unknown_interface_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "router.toml").write_text(ROUTER, encoding="utf-8")
    assert main(["live", str(tmp_path / "router.toml"), "--bridge", "no-such-0", "lo"]) == 2
    error = capsys.readouterr().err
    assert "--bridge: expected" in error
    assert 'got "no-such-0"' in error
    assert error.count("\n") == 1
