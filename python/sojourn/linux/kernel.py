"""The built kernel: its location and origin."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeAlias

from sojourn.core.errors import UserError
from sojourn.core.files import write_atomic

HOSTS = Path(__file__).resolve().parents[3] / "hosts" / "linux"
"""The folder of the repository with the driver, the edits and the configuration."""

CRATES = HOSTS.parents[1] / "crates"
"""The folder of all crates; `LINKED` names those that are linked into the kernel."""

Capture: TypeAlias = tuple[str, list[str], list[str]]
"""A capture: an existing file for the packets, the captured links, the captured hosts."""

LINKED = ("units", "fuzzy", "aqm", "cc", "traffic", "link", "spec", "net", "linux")
"""The crates that are linked into the kernel."""


def cache_folder() -> Path:
    """The folder of the built kernel.

    It is `sojourn/linux` in the user's cache folder (`XDG_CACHE_HOME`, else `~/.cache`).
    """
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "sojourn" / "linux"


@dataclass(frozen=True)
class Kernel:
    """A built kernel."""

    program: Path
    version: str
    """The version that its source states, such as 7.3.4."""
    source: str
    """Its origin: a package with its version, or a folder."""
    config_sha256: str
    kernel_sha256: str
    code: str
    """The value of `code_identity` when it was built."""

    @property
    def identity(self) -> str:
        """The kernel's part of cache keys."""
        return f"linux-{self.version}-{self.kernel_sha256[:16]}"

    @property
    def is_current(self) -> bool:
        """Whether it was built from the present code of the network."""
        return self.code == code_identity()


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def code_identity() -> str:
    """A digest of the code linked into the kernel and of the edits to its source."""
    folders = [HOSTS / "kernel", HOSTS / "abi" / "src", *(CRATES / name / "src" for name in LINKED)]
    files = [*HOSTS.glob("*.*"), *(path for folder in folders for path in folder.rglob("*") if path.is_file())]
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(f"{path.relative_to(HOSTS.parents[1]).as_posix()}\n{sha256_of(path)}\n".encode())
    return digest.hexdigest()[:16]


def store_kernel(kernel: Kernel) -> None:
    """Writes the kernel's origin to a file next to it."""
    about = {key: value for key, value in asdict(kernel).items() if key != "program"}
    write_atomic(kernel.program.with_suffix(".json"), json.dumps(about, indent=1) + "\n")


def find_kernel() -> Kernel:
    """The built kernel. Raises `UserError` if it is missing or damaged."""
    program = cache_folder() / "kernel"
    if not program.is_file():
        raise UserError("host: expected a Linux kernel, got none: `sojourn linux build` makes one in about 5 minutes")
    try:
        about = json.loads(program.with_suffix(".json").read_text(encoding="utf-8"))
        kernel = Kernel(program=program, **about)
    except (OSError, ValueError, TypeError):
        raise UserError(f"{program}: expected its description, got damage: run `sojourn linux build`") from None
    return kernel
