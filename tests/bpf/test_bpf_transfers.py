"""Controllers of `sojourn attach` on a real path.

It has 10 Mbit/s, an RTT of 20 ms, and a buffer of 300 ms.
"""

import sys
from collections.abc import Iterator

import pytest

from sojourn.bpf import build, fields
from tests.support.namespaces import Path3, Transfer, run, together

lacking = build.missing()
pytestmark = [pytest.mark.slow, pytest.mark.skipif(lacking is not None, reason=f"BPF programs: {lacking}")]

RATE = 10.0
BASE_MS = 20.0


@pytest.fixture(scope="module")
def path() -> Iterator[Path3]:
    made = Path3(BASE_MS / 1e3, f"tbf rate {RATE}mbit burst 3000 limit {int(RATE * 1e6 / 8 * 0.3)}")
    yield made
    made.close()


@pytest.fixture(scope="module", autouse=True)
def attached() -> Iterator[None]:
    for name in fields.CONTROLLERS:
        run(sys.executable, "-m", "sojourn", "attach", "--cc", name)
    yield
    run(sys.executable, "-m", "sojourn", "detach")


@pytest.mark.parametrize(
    ("name", "target_ms", "least_share"), [("ledbat", 100, 0.9), ("ledbatpp", 60, 0.75), ("flower_plus", 60, 0.75)]
)
def test_it_fills_an_idle_link_and_holds_the_delay_near_its_target(
    path: Path3, name: str, target_ms: float, least_share: float
) -> None:
    transfer = Transfer(path, name, 20)
    together(transfer)
    assert transfer.rate_mbps(5, 19) > least_share * RATE
    # Above the target by a round trip's growth of the window, and by what a busy machine adds.
    assert transfer.rtt_ms(5, 19) < BASE_MS + 1.2 * target_ms


@pytest.mark.parametrize("name", ["ledbat", "ledbatpp", "flower", "flower_plus"])
def test_it_yields_to_cubic(path: Path3, name: str) -> None:
    background, cubic = Transfer(path, name, 20), Transfer(path, "cubic", 12, start_s=8)
    together(background, cubic)
    assert cubic.rate_mbps(14, 19) > 0.75 * RATE
