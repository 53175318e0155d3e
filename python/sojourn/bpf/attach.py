"""Attaches programs to the running kernel."""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sojourn.bpf import fields, queues
from sojourn.bpf.build import check_machine, compile_program
from sojourn.bpf.libbpf import BPF_F_LINK, Program
from sojourn.bpf.owner import Owner
from sojourn.core.errors import UserError
from sojourn.linux.running import congestion_controls

WITHOUT_BACKLOG = ("none", "noqueue", "mq", "mqprio", "pfifo_fast", "taprio")
"""Queue disciplines that keep no count of all that waits.

It is in their parts, or counted for each processor.
"""

Settings = Sequence[tuple[str, Any]]
"""Paths of parameters with their values."""


def attach_controller(name: str, settings: Settings) -> Owner:
    """Registers a congestion controller in the kernel. The owner must hold it."""
    if name not in fields.CONTROLLERS:
        raise UserError.unknown("--cc", name, fields.CONTROLLERS)
    constants = fields.of_controller(name, settings)
    check_machine()
    controller = fields.CONTROLLERS[name]
    kernel_name = controller.kernel_name
    owner = Owner(f"cc-{kernel_name}")
    if kernel_name in congestion_controls():
        raise UserError(f"attach: the kernel has a congestion control {kernel_name} already")
    with tempfile.TemporaryDirectory() as folder:
        macros = {"LAW": f'"{kernel_name}.h"', "NAME": f'"{kernel_name}"'}
        program = Program(compile_program(controller.source, macros, Path(folder)), name)
        program.set_constants(".rodata.law", struct.pack(f"={len(constants)}Q", *constants))
        program.number("bpf_map__set_map_flags", program.map("controller"), BPF_F_LINK)
        program.load()
        program.register("controller")
    return owner


def attach_queue(name: str, device: str, settings: Settings, rate: float | None) -> Owner:
    """Attaches a queue law to the egress of a device of this network namespace.

    The owner must hold it. `rate` is the rate of the link in bit/s, which some laws need.
    """
    if name not in queues.LAWS:
        raise UserError.unknown("--aqm", name, queues.LAWS)
    constants = queues.constants(name, settings, rate)
    check_machine()
    check_device(device)
    owner = Owner(queue_name(device))
    with tempfile.TemporaryDirectory() as folder:
        program = Program(compile_program("queue.bpf.c", constants.macros, Path(folder)), name)
        program.set_constants(".rodata.law", constants.content)
        program.load()
        program.attach_egress("queue", socket.if_nametoindex(device))
    return owner


def queue_name(device: str) -> str:
    """The name of an attachment to a device of this network namespace."""
    return f"aqm-{os.stat('/proc/self/ns/net').st_ino}-{device}"


def check_device(device: str) -> None:
    """Raises `UserError` if a device is missing, or its backlog is not counted."""
    if device not in {name for _, name in socket.if_nameindex()}:
        raise UserError.unknown("--dev", device, [name for _, name in socket.if_nameindex()])
    done = subprocess.run(["tc", "-j", "qdisc", "show", "dev", device, "root"], capture_output=True, text=True)
    kind = json.loads(done.stdout or "[{}]")[0].get("kind", "none") if done.returncode == 0 else "none"
    if kind in WITHOUT_BACKLOG:
        counting = "a queue discipline that counts what waits, such as tbf, htb or pfifo"
        raise UserError(f"--dev: {device}: expected {counting}, got {kind}")
