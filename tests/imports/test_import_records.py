"""Drawn captures and Flent results become the scenarios on record in `import_records.txt`.

The record has a hash of each. `python -m tests.imports.test_import_records` stores the hashes of this version, after
an intended change.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sojourn as sj
from tests.imports.test_flent_import import LABELS, PING, STEPS, flat, result
from tests.imports.test_import_captures import Packet, between_hosts, datagram, segment, transfer, write

pytestmark = pytest.mark.no_libraries

STORED = Path(__file__).parent / "import_records.txt"
COUNT = 40


def capture(random: random.Random, folder: Path) -> Path:
    """A capture of transfers, datagrams and QUIC.

    Some transfers end, and some lack their handshake.
    """
    packets: list[Packet] = []
    for number in range(random.randrange(4)):
        ends: dict[str, Any] = {
            "ports": (40_000 + number, 80),
            "local": (192, 0, 2, random.randrange(1, 3)),
            "ecn": random.choice([0, 2]),
        }
        start, rtt = random.choice([0.0, 0.5, 2.0]), random.choice([0.004, 0.02, 0.15])
        flow = transfer(
            start, rtt, random.choice([0.0005, 0.002, 0.03]), random.randrange(2, 300), **ends, up=random.random() < 0.6
        )
        packets += flow[3:] if random.random() < 0.2 else flow
        if random.random() < 0.3:
            packets.append(segment(max(at for at, *_ in flow) + 0.01, True, (1001, 5001), 17, **ends))
    for number in range(random.randrange(3)):
        ports, size = (5000 + number, random.choice([443, 6001])), random.choice([60, 200, 1200])
        begin = b"\xc3\0\0\0\1\x08" + bytes(20) if ports[1] == 443 and size > 100 else b""
        up, gap, jitter = random.random() < 0.5, random.choice([0.001, 0.02]), random.choice([0, 0.5])
        at = random.random()
        packets += [
            datagram(at, up, max(size, 60), ports, begin),
            datagram(at + 0.03, not up, max(size, 60), ports, begin),
        ]
        for _ in range(random.choice([5, 400])):
            at += gap * (1 + jitter * random.random()) + (3.0 if random.random() < 0.005 else 0.0)
            packets.append(datagram(at, up, size, ports))
    layer = between_hosts if random.random() < 0.5 else list
    return write(folder / "drawn.pcap", layer(packets or transfer(0, 0.02, 0.001, 50)))


def flent(random: random.Random, folder: Path) -> Path:
    """A result with uploads, downloads, calls, probes, statistics and gaps."""
    series: dict[str, list[float | None]] = {}
    for way in ("upload", "download"):
        for number in range(random.randrange(4)):
            rate, every, noise = random.choice([0.3, 5.0, 90.0]), random.randrange(1, 6), random.random() / 2
            name = f"TCP {way}::{number + 1}" if random.random() < 0.5 else f"TCP {way} {random.choice(LABELS)}"
            begin, end = random.choice([(0, STEPS), (20, 80), (50, STEPS)])
            values = [rate * (1 + noise * (-1) ** (step // every)) for step in range(STEPS)]
            series[name] = [v if step % every == 0 and begin <= step < end else None for step, v in enumerate(values)]
            if random.random() < 0.5:
                series[f"{name}::tcp_rtt"] = flat(random.choice([12.0, 40.0]))
        if random.random() < 0.3:
            series[f"TCP {way} sum"] = flat(50.0)
    others = {"UDP upload": flat(3.0), "VoIP jitter": flat(0.5), "UDP download 20mbit::2": flat(19.5)}
    series |= {name: values for name, values in others.items() if random.random() < 0.3}
    if random.random() < 0.8:
        series[random.choice([PING, "Ping (ms) UDP EF"])] = [random.choice([3.0, 48.0]), *flat(130.0)[1:]]
    names = {"NAME": random.choice(["rrul", "tcp_2up_square", "rtt_fair"]), "TOTAL_LENGTH": random.choice([20, 30])}
    control = {"TCP_CONGESTION_CONTROL": random.choice(["bbr", "reno", "dctcp"])} if random.random() < 0.5 else {}
    file = folder / "drawn.flent"
    file.write_text(json.dumps(result(series or {"TCP upload": flat(4.0)}, **names, **control)))
    return file


def outcome(make: Callable[[random.Random, Path], Path], number: int, folder: Path) -> str:
    """The hash of the scenario and the notes, or of the error."""
    drawn = random.Random(f"{make.__name__} {number}")
    file = make(drawn, folder)
    options: dict[str, Any] = drawn.choice(
        [{}, {}, {"rate": "7 Mbit/s"}, {"rtt": "31 ms"}, {"rate": "3 Mbit/s", "rtt": "9 ms"}]
    )
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            text = sj.import_file(file, **options).to_toml()
        except sj.UserError as error:
            text = str(error)
    whole = "\n".join([text, *(str(each.message) for each in said)]).replace(str(folder), "")
    return hashlib.sha256(whole.encode()).hexdigest()[:12]


def record(number: int, folder: Path) -> str:
    return f"{number} {outcome(capture, number, folder)} {outcome(flent, number, folder)}"


@pytest.mark.parametrize("part", range(4))
def test_drawn_files_become_the_stored_scenarios(part: int, tmp_path: Path) -> None:
    stored = STORED.read_text(encoding="utf-8").splitlines()
    assert [record(number, tmp_path) for number in range(part, COUNT, 4)] == stored[part::4]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        STORED.write_text("".join(record(number, Path(name)) + "\n" for number in range(COUNT)), encoding="utf-8")
    sys.exit(0)
