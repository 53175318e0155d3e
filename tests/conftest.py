"""Fixtures. All tests run against the extension module.

Without it, one line says how to build it.
"""

import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# A checkout without the extension module would hide an installed package, which has one.
SOURCES = Path(__file__).resolve().parents[1] / "python"
if not [file for file in (SOURCES / "sojourn").glob("_sojourn*") if file.suffix in (".so", ".pyd")]:
    sys.path[:] = [each for each in sys.path if Path(each).resolve() != SOURCES]

# A shell ignores SIGINT in what it starts in the background. What the tests start and interrupt must not inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A property is not timed: machines are shared. It is tested with the same cases each time, but by `make properties`.
settings.register_profile("same", deadline=None, derandomize=True)
ROUNDS = int(os.environ.get("PROPERTY_ROUNDS", "30"))
settings.register_profile("anew", deadline=None, derandomize=False, max_examples=100 * ROUNDS)
settings.load_profile("same")


def pytest_configure(config: pytest.Config) -> None:
    """Stops if the extension module is missing: there is no replacement for it."""
    try:
        import sojourn._sojourn  # noqa: F401
    except ImportError as error:
        raise pytest.UsageError(
            f"the extension module sojourn._sojourn cannot be imported ({error}): "
            "build it with `make setup` or `maturin develop --profile quick`"
        ) from None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Runs compiling tests first: other processes run the rest while cargo works."""
    items.sort(key=lambda item: item.path.name != "test_walkthroughs.py")


def pytest_report_header(config: pytest.Config) -> str:
    """The tested engine."""
    import sojourn._sojourn

    return f"engine: {sojourn._sojourn.__file__}"


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
    """A small scenario file in a temporary folder."""
    file = tmp_path / "dumbbell.toml"
    file.write_text(DUMBBELL)
    return file


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def observed(monkeypatch: pytest.MonkeyPatch):
    """The engine with logged and interruptible runs, for tests of its calls from Python."""
    from sojourn.runs import execution, runner, workers
    from tests.support import observed_engine

    monkeypatch.setattr(runner, "_sojourn", observed_engine)
    monkeypatch.setattr(execution, "_sojourn", observed_engine)
    monkeypatch.setattr(workers, "COMMAND", observed_engine.COMMAND)
    return observed_engine
