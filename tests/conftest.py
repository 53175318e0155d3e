"""Where the extension module is not built, or `SOJOURN_FAKE` is set, the tests run against a stand-in."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "python"))


def _engine_is_built() -> bool:
    return any((Path(__file__).parent.parent / "python" / "sojourn").glob("_sojourn*.so"))


FAKE = bool(os.environ.get("SOJOURN_FAKE")) or not _engine_is_built()
if FAKE:
    import fake_engine

    sys.modules["sojourn._sojourn"] = fake_engine

engine_only = pytest.mark.skipif(FAKE, reason="the stand-in does not say what the engine says")

DUMBBELL = """
name = "dumbbell"
duration = "5 s"
warmup = "1 s"

[[links]]
name = "bottleneck"
from = "R0"
to = "R1"
rate = "10 Mbit/s"
delay = "11 ms"
queue = { aqm = "droptail", limit = "100 packets" }
duplex = true

[[flows]]
name = "ftp"
count = 3
from = "R0"
to = "R1"
access = { rate = "45 Mbit/s", delay = "5 ms" }
start = { uniform = ["0 s", "1 s"] }
traffic = { kind = "bulk" }
"""


@pytest.fixture
def dumbbell(tmp_path: Path) -> Path:
    """A small scenario file, and the working directory beside it."""
    file = tmp_path / "dumbbell.toml"
    file.write_text(DUMBBELL)
    return file


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch):
    """The stand-in engine, for tests that need one that is slow, counted or interrupted."""
    import fake_engine
    from sojourn import running, scenario

    monkeypatch.setattr(running, "_sojourn", fake_engine)
    monkeypatch.setattr(scenario, "_sojourn", fake_engine)
    return fake_engine
