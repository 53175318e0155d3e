"""Claims are reproduced by a fit if an omitted value was fitted to their numbers."""

import json
import shutil

import pytest

from sojourn.cli import main
from sojourn.core.errors import UserError
from sojourn.experiments import load_experiment
from sojourn.experiments.verdict import Verdict
from tests.experiments.test_claims import LEHTO, verdict_on
from tests.support.experiment_folder import OTHER_CLAIMS

CLAIMS = """
[[claims]]
id = "C1"
where = "here"
text = "RED varies, and its link has a rate"
reason = "A test."
parts = [{ measure = "s3.red.queue_sd", holds = "> 3" }, { measure = "s3.red.rate", holds = "> 3" }]
"""
CHOICE = """
[[deviations]]
id = "D1"
what = "the weight"
paper = "Not given."
here = "A half."
why = "It has the published deviation."
chosen_for = {names}
"""


def fitted(tmp_path, names):
    """Lehto's paper with one claim, and one choice that was made for `names`."""
    copy = tmp_path / "paper"
    shutil.copytree(LEHTO, copy, ignore=OTHER_CLAIMS)
    (copy / "claims.toml").write_text(CLAIMS)
    (copy / "deviations.toml").write_text(CHOICE.replace("{names}", json.dumps(names)))
    return copy


@pytest.mark.parametrize(
    ("names", "parts"),
    [
        (["C1"], [Verdict.BY_FIT, Verdict.BY_FIT]),
        (["C*"], [Verdict.BY_FIT, Verdict.BY_FIT]),
        (["C1/queue_sd"], [Verdict.BY_FIT, Verdict.REPRODUCED]),
    ],
)
def test_a_claim_with_a_part_that_a_choice_was_made_for_is_reproduced_by_a_fit(tmp_path, names, parts):
    result = verdict_on(load_experiment(fitted(tmp_path, names)), (33.0, 33.1, 33.2))
    assert [part.verdict for part in result.parts] == parts
    assert result.verdict is Verdict.BY_FIT
    assert "by a fit" in result.held


def test_a_claim_that_fails_in_spite_of_its_fit_is_not_reproduced(tmp_path):
    result = verdict_on(load_experiment(fitted(tmp_path, ["C1"])), (1.0, 1.1, 1.2))
    assert result.verdict is Verdict.NOT_REPRODUCED


@pytest.mark.parametrize("name", ["C2", "C1/queue_mean", "C1/queue"])
def test_a_choice_for_no_part_is_refused_in_one_line(tmp_path, name):
    with pytest.raises(UserError) as error:
        load_experiment(fitted(tmp_path, [name]))
    said = f'deviations[D1].chosen_for: expected parts of one of C1, got "{name}"'
    assert str(error.value).endswith(said)


def test_reports_and_exit_code_count_a_fit_apart(tmp_path, here, capsys):
    folder = fitted(tmp_path, ["C1/queue_sd"])
    assert main(["reproduce", str(folder), "table2", "--quick", "--require", "--out", "r"]) == 1
    printed = capsys.readouterr()
    assert "claims that hold by a fit: C1" in printed.err
    assert "0 reproduced, 1 reproduced by a fit" in printed.out
    assert json.loads((here / "r" / "about.json").read_text())["claims"]["paper"]["reproduced by a fit"] == 1
    page = (here / "r" / "report-quick.html").read_text()
    assert '<div><b class="fit">1</b>reproduced by a fit</div>' in page
    assert ",reproduced by a fit," in (here / "r" / "tables" / "claims.csv").read_text()
    assert "reproduced by a fit" in (here / "r" / "tables" / "claims.tex").read_text()
