"""Captures in the formats of other programs, for tests with malformed files."""

from __future__ import annotations

import itertools
import struct

LAYERS = {
    1: [
        b"\x08\0",
        b"\x91\0\0\1\x81\0\0\2\x08\0",
        b"\x88\x64\x11\0\0\1\0\0\0\x21",
        b"\x88\x47\0\1\1\x40",
        b"\0\x40\xaa\xaa\3\0\0\0\x08\0",
    ],
    9: [b"\xff\3\0\x21"],
    113: [bytes(14) + b"\x08\0"],
    276: [b"\x08\0" + bytes(18)],
}  # by link type: what stands before IP, without the addresses of Ethernet


def foreign_captures() -> list[bytes]:
    """Classic files of both byte orders with a connection and datagrams in each link layer."""
    files = []
    for link, layers in LAYERS.items():
        for layer, order in itertools.product(layers, "<>"):
            file = struct.pack(order + "IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65_535, link)
            for number in range(40):
                up, protocol = number % 2 == 0, 17 if number > 25 else 6
                ends = [bytes([192, 0, 2, 1]), bytes([198, 51, 100, 1])]
                ports = [40_000, 443]
                ends, ports = (ends, ports) if up else (ends[::-1], ports[::-1])
                body = struct.pack(">HHIIBBHHH", *ports, 1000 * number, 7, 0x50, (2, 18, 16)[min(number, 2)], 99, 0, 0)
                ip = struct.pack(">BBHHHBBH", 0x45, 2, 0 if number == 9 else 1040, 1, 0, 64, protocol, 0) + b"".join(
                    ends
                )
                data = (bytes(12) if link == 1 else b"") + layer + ip + body
                file += struct.pack(order + "IIII", 10**9, 9000 * number, len(data), len(data) + 1000) + data
            files.append(file)
    return files
