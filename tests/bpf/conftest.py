"""The kernel is one for all tests, so the files of this folder use it in turn."""

import fcntl
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sojourn.bpf.build import missing


@pytest.fixture(scope="module", autouse=True)
def alone() -> Iterator[None]:
    """Waits until no other process tests programs in this kernel."""
    if missing() is not None:
        yield
        return
    with (Path(tempfile.gettempdir()) / "sojourn-bpf-tests.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
