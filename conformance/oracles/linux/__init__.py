"""Comparison with a Linux kernel."""

from pathlib import Path

from ..results import Results

RESULTS = Results(Path(__file__).parent / "stored.json.xz")
