"""The kernel is one for all tests, so the files of this folder use it in turn."""

from collections.abc import Iterator

import pytest

from sojourn.live.namespaces import missing
from tests.support.namespaces import in_turn


@pytest.fixture(scope="module", autouse=True)
def alone() -> Iterator[None]:
    """Waits until no other process tests programs in this kernel."""
    if missing():
        yield
        return
    with in_turn():
        yield
