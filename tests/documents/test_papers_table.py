"""README's table of the papers' claims has each paper with its number of claims."""

import sys

from sojourn.experiments import find_experiments
from sojourn.experiments.index import Entry
from sojourn.experiments.verdict import Verdict
from tests.support.source_tree import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
import papers_table


def rows():
    """The cells of the table in README.md, without its head."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    table = text.partition(papers_table.BEGIN)[2].partition(papers_table.END)[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


def test_each_paper_has_a_row_and_each_row_counts_all_its_claims():
    head, _, *found = rows()
    assert head == ["paper", "claims of the paper", *map(str, Verdict)]
    experiments = {
        experiment.id: sum(claim.origin == "paper" for claim in experiment.claims) for experiment in find_experiments()
    }
    assert [row[0] for row in found] == sorted(experiments)
    for experiment, total, *counts in found:
        if total != "–":  # not rerun as a whole since its claims changed
            assert int(total) == experiments[experiment] == sum(map(int, counts)), (
                f"{experiment}: python scripts/papers_table.py"
            )


def test_a_table_is_written_between_its_marks():
    counts = {str(verdict): i for i, verdict in enumerate(Verdict)}
    entry = Entry(id="a-2000", citation="", page="", counts=counts, skipped=0, caution="", facts="")
    table = papers_table.table(["a-2000", "b-2001"], {"a-2000": entry})
    assert table.splitlines()[2:] == ["| a-2000 | 15 | 0 | 1 | 2 | 3 | 4 | 5 |", "| b-2001 |" + 7 * " – |"]
    page = f"x\n{papers_table.BEGIN}old\n{papers_table.END}y\n"
    assert papers_table.with_table(page, table) == f"x\n{papers_table.BEGIN}{table}{papers_table.END}y\n"
