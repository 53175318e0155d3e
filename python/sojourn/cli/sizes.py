"""Tables and plots of completion times by size, for `compare --sizes`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from rich.table import Table

from sojourn.cli.output import latex, show
from sojourn.compare.comparison import Comparison
from sojourn.compare.sizes import SizeClass, by_class, groups, statistics
from sojourn.core.files import together, write_atomic
from sojourn.core.foreign_names import file_names
from sojourn.core.record_files import frames_to_csv
from sojourn.core.stats import MEAN

SHOWN = ("transfers", "median", "p99")


def show_sizes(found: Comparison, classes: Sequence[SizeClass]) -> None:
    """Prints a table per group: completion times by size and case."""
    for group in groups(found):
        show(_table(found, classes, group))


def _table(found: Comparison, classes: Sequence[SizeClass], group: str) -> Table:
    title = f"{group}: completion time (s) by size" + (f", {MEAN}" if len(found.seeds) > 1 else "")
    table = Table(title=title, title_justify="left")
    for head in ("size", ""):
        table.add_column(head)
    for case in found.records:
        table.add_column(case, justify="right")
    for each in classes:
        cells = [statistics(records, group, each) for records in found.records.values()]
        for i, name in enumerate(SHOWN):
            table.add_row(each.label if i == 0 else "", name, *[str(cell[name]) for cell in cells])
    return table


def save_sizes(found: Comparison, classes: Sequence[SizeClass], folder: Path) -> list[Path]:
    """Writes the tables as CSV and LaTeX, and the distributions as figures; returns the files."""
    import pandas as pd

    from sojourn.plots.results import plot_sizes
    from sojourn.plots.style import drawn_or_noted

    rows = [
        {"group": group, "size": each.label, "above_bytes": each.above, "most_bytes": each.most, "case": case}
        | {"statistic": name, "unit": "" if name == "transfers" else "s"}
        | {"mean": one.mean, "low": one.low, "high": one.high, "n": one.n}
        for group in groups(found)
        for each in classes
        for case, records in found.records.items()
        for name, one in statistics(records, group, each).items()
    ]
    with together(folder, add=True):
        written = [frames_to_csv([pd.DataFrame(rows)], folder / "sizes.csv")]
        tables = [latex(_table(found, classes, group)) for group in groups(found)]
        written.append(write_atomic(folder / "sizes.tex", "\n".join(tables)))
        for group, stem in file_names([f"sizes-{group}" for group in groups(found)]).items():
            name = group.removeprefix("sizes-")
            draw = partial(plot_sizes, by_class(found, name, classes), name, stem, folder)
            written += drawn_or_noted(stem, draw)
    return written
