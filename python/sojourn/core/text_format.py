"""Formats numbers, counts and lists, and tables for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from math import floor, isfinite, log10

MOST_ROWS = 20


def number(value: float | None) -> str:
    """A number with four significant digits: `2,068`, `0.0125`, `12`.

    Trailing zeros are omitted. None and NaN become a dash.

    ```python
    number(2068.4)
    ```
    """
    if value is None or not isfinite(value):
        return "–"
    value += 0.0  # avoids "-0"
    size = floor(log10(abs(value))) if value else 0
    if not -5 <= size < 12:
        return f"{value:.3e}"
    text = f"{value:,.{max(0, 3 - size)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def counted(count: int, what: str) -> str:
    """A count with its noun: `1 seed`, `2 seeds`.

    ```python
    counted(1, "seed")
    ```
    """
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def elapsed(seconds: float) -> str:
    """A duration as text: `0.42 s`, `12 s`, `4 min 5 s`, `1 h 2 min`.

    ```python
    elapsed(245.0)
    ```
    """
    if seconds < 9.95:
        return f"{seconds:.2g} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def listed(names: Iterable[str], most: int = 4) -> str:
    """Joins names: the first `most`, then the number of omitted ones."""
    known = list(names)
    more = f" and {len(known) - most} more" if len(known) > most else ""
    return ", ".join(known[:most]) + more


def html_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in HTML with at most `MOST_ROWS` rows.

    The first column contains names, the others numbers.
    """
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join(f"<tr><th>{escape(row[0])}</th>{_cells(row[1:])}</tr>" for row in rows[:MOST_ROWS])
    left = len(rows) - MOST_ROWS
    foot = f"<p>{counted(left, 'more row')}</p>" if left > 0 else ""
    caption = f'<caption style="text-align:left">{escape(title)}</caption>'
    table = f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div style="overflow-x:auto">{table}{foot}</div>'


def _cells(cells: Sequence[str]) -> str:
    return "".join(f'<td style="text-align:right">{escape(cell)}</td>' for cell in cells)
