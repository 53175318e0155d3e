#!/usr/bin/env python3
"""Writes the tables of docs/measurements.md from the definitions in the engine."""

from pathlib import Path

from sojourn.core.record_schema import with_tables

PAGE = Path(__file__).parent.parent / "docs" / "measurements.md"

if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
