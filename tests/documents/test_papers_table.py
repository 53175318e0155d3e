"""README's table of the papers' claims has each paper with its number of claims."""

import sys

from sojourn.experiments.index import Entry
from sojourn.experiments.verdict import Verdict
from tests.support.papers import papers
from tests.support.source_tree import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
import papers_table


def test_each_paper_has_a_row_and_each_row_counts_all_its_claims():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = papers_table.rows(text)
    assert f"| paper | claims of the paper | {' | '.join(map(str, Verdict))} |\n|---" in text
    experiments = {
        experiment.id: sum(claim.origin == "paper" for claim in experiment.claims) for experiment in papers()
    }
    assert list(found) == sorted(experiments)
    for experiment, (total, *counts) in found.items():
        if total != "–":  # not rerun as a whole since its claims changed
            assert int(total) == experiments[experiment] == sum(map(int, counts)), (
                f"{experiment}: python scripts/papers_table.py"
            )


def test_a_table_is_written_between_its_marks():
    counts = {str(verdict): i for i, verdict in enumerate(Verdict)}
    entry = Entry(id="a-2000", citation="", page="", counts=counts, skipped=0, caution="", facts="")
    table = papers_table.table(["a-2000", "b-2001", "c-2002"], {"a-2000": entry}, {"c-2002": list("7654321")})
    assert table.splitlines()[2:] == [
        "| a-2000 | 15 | 0 | 1 | 2 | 3 | 4 | 5 |",
        "| b-2001 |" + 7 * " – |",
        "| c-2002 | 7 | 6 | 5 | 4 | 3 | 2 | 1 |",
    ]
    page = f"x\n{papers_table.BEGIN}old\n{papers_table.END}y\n"
    assert papers_table.with_table(page, table) == f"x\n{papers_table.BEGIN}{table}{papers_table.END}y\n"
