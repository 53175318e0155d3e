"""Compiles a program for the running kernel, after checking that the machine can load it."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from sojourn.core.errors import RunError, UserError

SOURCES = Path(__file__).resolve().parent / "kernel"
"""The folder of the programs' source."""

BTF = Path("/sys/kernel/btf/vmlinux")
"""The types of the running kernel."""

OLDEST = (6, 6)
"""The oldest kernel whose programs detach with their owner.

There are links for struct_ops since 6.4, and for tc since 6.6.
"""


def compiler() -> str | None:
    """The newest clang on the search path; None without one."""
    if found := shutil.which("clang"):
        return found
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder]
    versions = {
        int(name[1]): str(path)
        for folder in folders
        for path in folder.glob("clang-*")
        if (name := re.fullmatch(r"clang-(\d+)", path.name))
    }
    return versions[max(versions)] if versions else None


def missing() -> str | None:
    """The first thing that this machine lacks, as `expected ..., got ...`.

    None if programs can be attached.
    """
    if platform.system() != "Linux":
        return f"expected Linux, got {platform.system()}"
    release = platform.release()
    if tuple(map(int, re.findall(r"\d+", release)[:2])) < OLDEST:
        return f"expected Linux {'.'.join(map(str, OLDEST))} or newer, got {release}"
    if not BTF.exists():
        return f"expected a kernel with its types in {BTF} (CONFIG_DEBUG_INFO_BTF), got one without"
    if os.geteuid() != 0:
        return f"expected root, got user {os.geteuid()}"
    if compiler() is None:
        return "expected clang, which compiles for BPF, got none"
    if not any((Path(folder) / "bpf" / "bpf_helpers.h").exists() for folder in ("/usr/include", "/usr/local/include")):
        return "expected the headers of libbpf, such as Debian's package libbpf-dev, got none"
    return None


def check_machine() -> None:
    """Raises `UserError` if this machine cannot attach programs."""
    if lacking := missing():
        raise UserError(f"attach: {lacking}")


def compile_program(source: str, macros: Mapping[str, str], folder: Path) -> Path:
    """Compiles a program of `SOURCES` into a folder, and returns the object file."""
    file = folder / Path(source).with_suffix(".o").name
    defined = [f"-D{name}={value}" for name, value in macros.items()]
    # Without -g there are no types, which the loader needs. It moves accesses to the places of fields in this kernel.
    options = [
        "-O2",
        "-g",
        "-target",
        "bpf",
        "-mcpu=v3",
        "-Wall",
        *defined,
        "-c",
        str(SOURCES / source),
        "-o",
        str(file),
    ]
    done = subprocess.run([compiler() or "clang", *options], capture_output=True, text=True, errors="replace")
    if done.returncode:
        told = [line for line in done.stderr.splitlines() if "error:" in line] or ["clang failed"]
        raise RunError(f"attach: {source}: {told[0]}")
    return file
