"""The machine and the software that made a report."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path

from sojourn.runs.store import engine_identity

PACKAGES = ("numpy", "scipy", "pandas", "matplotlib")


def environment() -> dict[str, str]:
    """Software and machine, by name."""
    found = {"sojourn": _version("sojourn"), "engine": engine_identity()}
    commit = _commit()
    if commit:
        found["commit"] = commit
    found["Python"] = platform.python_version()
    found |= {name: _version(name) for name in PACKAGES}
    found["system"] = f"{platform.system()} {platform.machine()}"
    found["cores"] = str(os.cpu_count())
    return found


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _commit() -> str:
    """The commit of the package's repository; empty outside a repository.

    It ends with `+` if files have changed.
    """
    root = Path(__file__).resolve().parent
    try:
        ask = ["git", "-C", str(root), "describe", "--always", "--dirty=+", "--abbrev=12"]
        done = subprocess.run(ask, capture_output=True, text=True, timeout=60, check=True)
        return done.stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
