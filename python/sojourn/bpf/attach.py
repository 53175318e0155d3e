"""Attaches programs to the running kernel."""

from __future__ import annotations

import os
import struct
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sojourn.bpf import fields
from sojourn.bpf.build import check_machine, compile_program
from sojourn.bpf.libbpf import BPF_F_LINK, Program
from sojourn.bpf.owner import Owner
from sojourn.core.errors import UserError

AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
"""The names of the kernel's congestion controls."""

Settings = Sequence[tuple[str, Any]]
"""Paths of parameters with their values."""


def attach_controller(name: str, settings: Settings) -> Owner:
    """Registers a congestion controller in the kernel. The owner must hold it."""
    if name not in fields.CONTROLLERS:
        raise UserError.unknown("--cc", name, fields.CONTROLLERS)
    constants = fields.of_controller(name, settings)
    check_machine()
    kernel_name, _ = fields.CONTROLLERS[name]
    owner = Owner(f"cc-{kernel_name}")
    if kernel_name in AVAILABLE.read_text(encoding="ascii").split():
        raise UserError(f"attach: the kernel has a congestion control {kernel_name} already")
    with tempfile.TemporaryDirectory() as folder:
        macros = {"LAW": f'"{kernel_name}.h"', "NAME": f'"{kernel_name}"'}
        program = Program(compile_program("controller.bpf.c", macros, Path(folder)), name)
        program.set_constants(".rodata.law", struct.pack(f"={len(constants)}Q", *constants))
        program.number("bpf_map__set_map_flags", program.map("controller"), BPF_F_LINK)
        program.load()
        program.register("controller")
    return owner


def network_namespace() -> int:
    """The number of this process's network namespace."""
    return os.stat("/proc/self/ns/net").st_ino
