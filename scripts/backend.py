"""What builds the package for pip and uv: maturin, and a wheel gets papers, studies and examples.

pyproject.toml names it (PEP 517).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import maturin
from maturin import (
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)
from wheel import add

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]


def build_wheel(folder: str, settings: Mapping[str, Any] | None = None, metadata: str | None = None) -> str:
    """Builds a wheel in a folder, with its data; gives its name."""
    name: str = maturin.build_wheel(folder, settings, metadata)
    add(Path(folder) / name)
    return name
