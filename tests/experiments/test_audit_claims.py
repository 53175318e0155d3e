"""`sojourn audit-claims`: claims detect wrong versions, and the table lists the blind ones."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

import sojourn as sj
from sojourn.cli import main
from sojourn.core.errors import UserError
from sojourn.experiments import RunOptions, load_experiment, mutate
from sojourn.experiments.audit import Audit, Plan, Row, audit, observe, plan_of, read_audit, with_parameters
from sojourn.experiments.mutate import Workspace, shared_workspace
from sojourn.experiments.needs import cases_of
from tests.support.experiment_folder import OTHER_CLAIMS
from tests.support.papers import papers
from tests.support.source_tree import ROOT

pytestmark = pytest.mark.no_libraries

FEW = 8
"""The largest number of cases of a claim in these tests."""
LEHTO = ROOT / "papers" / "lehto-2005"
CLAIMS = """
[[claims]]
id = "mean"
where = "here"
text = "The queue of PD is near its set point"
reason = "A test."
parts = [{ measure = "s1.pd.queue_mean", holds = "between 20 and 40" }]

[[claims]]
id = "full"
where = "here"
text = "The link is used"
reason = "A test."
parts = [{ measure = "s1.pd.throughput", holds = "> 0" }]

[[claims]]
id = "red"
where = "here"
text = "RED drops"
reason = "A test."
parts = [{ measure = "s1.red.drops", holds = "> 0" }]

[[claims]]
id = "never"
where = "here"
text = "PD drops nothing"
reason = "A test."
parts = [{ measure = "s1.pd.drops", holds = "< 0" }]
"""
MUTANTS = """
grids = ["table2"]
seeds = 1
short = { duration = "12 s", warmup = "4 s" }

[[mutants]]
id = "target"
text = "a set point of 60"
queues = ["pd*"]
claims = ["mean", "full"]
scale = { "links.bottleneck.queue.target" = 2 }

[[mutants]]
id = "same"
text = "nothing is wrong"
queues = ["red"]
set = { "links.bottleneck.queue.max_p" = 0.1 }
"""


@pytest.fixture
def folder(tmp_path):
    """Lehto's paper with few claims and mutants."""
    copy = tmp_path / "papers" / "audited"
    shutil.copytree(LEHTO, copy, ignore=OTHER_CLAIMS)
    (copy / "claims.toml").write_text(CLAIMS)
    (copy / "mutants.toml").write_text(MUTANTS)
    return copy


def test_the_table_says_which_claims_notice_which_wrong_version(folder, here, capsys):
    assert main(["audit-claims", str(folder), "--out", "r"]) == 1, "a claim that should notice one does not"
    printed = capsys.readouterr().out
    found = read_audit(here / "r")
    assert [(row.id, row.noticed, row.missed) for row in found.rows] == [
        ("target", ["mean"], ["full"]),
        ("same", [], []),
    ]
    assert found.moved(found.rows[0]) == ["full"]
    assert found.rows[1].unmoved == ["mean", "full", "red", "never"]
    assert found.failed_before == ["never"]
    assert found.blind == ["full", "red"]
    assert "target: not noticed by full, which should" in printed
    assert "claims that notice none: full, red\n" in printed
    assert "mutants that no claim notices: same\n" in printed


def test_a_patch_changes_a_copy_alone_and_runs_there(folder, tmp_path):
    (folder / "extra.py").write_text("FUNCTIONS = {'gain': lambda x: 2 * x}\n")
    (folder / "claims.toml").write_text(
        CLAIMS
        + """
[[claims]]
id = "gain"
where = "here"
text = "A gain of two"
reason = "A test."
parts = [{ measure = "gain(4)", expected = 8 }]
"""
    )
    (folder / "mutants.toml").write_text("""
claims = ["gain"]

[[mutants]]
id = "three"
text = "a gain of three"
patch = [{ file = "extra.py", old = "2 * x", new = "3 * x" }]

[[mutants]]
id = "broken"
text = "no gain at all"
patch = [{ file = "extra.py", old = "2 * x", new = "1 / 0" }]
""")
    before = (folder / "extra.py").read_text()
    [engine] = (each for each in Path(sj.__file__).parent.glob("_sojourn.*") if each.suffix != ".pyi")
    with shared_workspace(plan_of(load_experiment(folder))) as workspace:
        copied = workspace.folder / "python" / "sojourn" / engine.name
    copied.parent.mkdir(parents=True, exist_ok=True)
    copied.write_bytes(b"an engine of before")
    out = tmp_path / "r"
    assert main(["audit-claims", str(folder), "--out", str(out)]) == 0
    found = read_audit(out)
    assert found.rows[0].noticed == ["gain"]
    assert "division by zero" in found.rows[1].stopped
    assert (folder / "extra.py").read_text() == before


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('grids = ["table2"]', 'grids = ["none"]', "grid: expected one of table2, "),
        ('claims = ["mean", "full"]', 'claims = ["nobody"]', "claims: expected one of mean, full, red"),
        ('queues = ["red"]', 'queues = ["blue"]', "mutants[same]: expected runs that it changes, got none"),
        (
            'queues = ["red"]',
            'patch = [{ file = "extra.py", old = "a", new = "b" }]',
            "mutants[same].patch: expected patch, or set and scale, got both",
        ),
        (
            '"links.bottleneck.queue.target" = 2',
            '"links.bottleneck.queue.aqm" = 2',
            'mutants[target].scale.links.bottleneck.queue.aqm: expected a field with a number, got "pd"',
        ),
        (
            'set = { "links.bottleneck.queue.max_p" = 0.1 }',
            'patch = [{ file = "experiment.toml", old = "nowhere", new = "" }]',
            "mutants[same].patch[1].old: expected a text that experiment.toml has once, got it 0 times",
        ),
        (
            'set = { "links.bottleneck.queue.max_p" = 0.1 }',
            'patch = [{ file = "none.py", old = "a", new = "" }]',
            'mutants[same].patch[1].file: expected a file of the experiment or the repository, got "none.py"',
        ),
    ],
)
@pytest.mark.usefixtures("here")
def test_a_wrong_file_is_refused_in_one_line(folder, old, new, says, capsys):
    text = (folder / "mutants.toml").read_text()
    assert old in text
    (folder / "mutants.toml").write_text(text.replace(old, new))
    assert main(["audit-claims", str(folder), "--out", "r"]) == 2
    said = capsys.readouterr().err
    assert says in said
    assert said.count("\n") == 1


def test_sources_that_do_not_compile_are_named_in_one_line(folder, tmp_path, monkeypatch):
    """The messages of cargo, from a replacement of it."""
    cargo = tmp_path / "cargo"
    cargo.write_text("#!/bin/sh\necho 'warning: x' >&2; echo 'error[E0308]: mismatched types' >&2; exit 101\n")
    cargo.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    (folder / "mutants.toml").write_text("""
[[mutants]]
id = "typo"
text = "a typing error"
patch = [{ file = "crates/aqm/src/algorithms/pd.rs", old = "let percent = k1", new = "let percent = k9" }]
""")
    plan = plan_of(load_experiment(folder))
    with pytest.raises(UserError) as error:
        Workspace(plan, tmp_path / "workspace").measure(plan.file.mutants[0])
    assert "mutants[typo].patch: expected sources that compile, got error[E0308]: mismatched types" in str(error.value)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with pytest.raises(UserError, match="expected cargo, which builds the changed engine, got none"):
        Workspace(plan, tmp_path / "workspace").measure(plan.file.mutants[0])
    original = (LEHTO.parent.parent / "crates/aqm/src/algorithms/pd.rs").read_text()
    assert (tmp_path / "workspace/crates/aqm/src/algorithms/pd.rs").read_text() == original


def test_one_audit_at_a_time_changes_sources(folder, monkeypatch, tmp_path):
    """All audits share one copy: a second process would run the changes of the first one."""
    monkeypatch.setattr(mutate, "repository", lambda: tmp_path)
    plan = plan_of(load_experiment(folder))
    with shared_workspace(plan) as workspace:
        assert workspace.folder.is_relative_to(tmp_path / "target")
        code = f"""
from pathlib import Path
from sojourn.experiments import load_experiment, mutate
mutate.repository = lambda: Path({str(tmp_path)!r})
with mutate.shared_workspace(None):
    pass
"""
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "expected one audit with changed sources at a time, got a second one" in done.stderr
    with shared_workspace(plan):
        pass


def test_every_papers_mutants_can_be_run():
    """Each mutant names existing claims and runs, and each of its patches matches once."""
    root, seen = LEHTO.parent.parent, 0
    for experiment in papers():
        if not (experiment.root / "mutants.toml").exists():
            continue
        plan = plan_of(experiment)
        assert plan.claims
        for mutant in plan.file.mutants:
            seen += 1
            assert mutant.patch or any(experiment.concerns(mutant, case) for case in plan.over), mutant.id
            for patch in mutant.patch:
                path = (
                    root / patch.file if patch.file.startswith(("crates/", "python/")) else experiment.root / patch.file
                )
                assert path.read_text().count(patch.old) == 1, (experiment.id, mutant.id)
                assert patch.new != patch.old
    assert seen > 30


def small_audit(plan: Plan, name: str) -> Audit:
    """The audit of one wrong version by the claims that should detect it and need few runs."""
    [mutant] = (each for each in plan.file.mutants if each.id == name)
    needed = {claim: cases_of(plan.experiment, claim) for claim in plan.claims if claim.id in mutant.claims}
    needed = {claim: cases for claim, cases in needed.items() if len(cases) <= FEW}
    over = {case: fields for case, fields in plan.over.items() if case in set().union(*needed.values())}
    small = replace(plan, claims=list(needed), over=over)
    asked, options = mutant.model_copy(update={"claims": [each.id for each in needed]}), RunOptions()
    return audit(small, [asked], observe(small, options), lambda each: with_parameters(small, each, options))


ASKED = [
    (experiment.id, mutant.id)
    for experiment in papers()
    if (experiment.root / "mutants.toml").exists()
    for plan in [plan_of(experiment)]
    for mutant in plan.file.mutants
    if not mutant.patch
    and any(len(cases_of(experiment, claim)) <= FEW for claim in plan.claims if claim.id in mutant.claims)
]


def test_some_wrong_version_of_every_paper_is_asked():
    assert {experiment for experiment, _ in ASKED} == {experiment.id for experiment in papers()}


@pytest.mark.parametrize(("experiment", "mutant"), ASKED)
def test_the_claims_that_should_notice_a_wrong_version_do(experiment, mutant):
    """Fails if a claim of a paper no longer detects its mutants."""
    [found] = (plan_of(each) for each in papers() if each.id == experiment)
    [row] = (asked := small_audit(found, mutant)).rows
    assert row.noticed == list(asked.claims)
    assert not row.missed


def test_a_parameter_of_a_mutant_reaches_designs_and_fluid_runs():
    """A1's gain is 4 N^4 / (R^5 C^4), and F1's queue rests at twice the reference."""
    [cpc] = (plan_of(each) for each in papers() if each.id == "cpc-2015")
    for name, known in (("flows-double", {"A1", "A2"}), ("target-double", {"F1"})):
        [mutant] = (each for each in cpc.file.mutants if each.id == name)
        plan = replace(cpc, claims=[each for each in cpc.claims if each.id in known], over={})
        asked = [mutant.model_copy(update={"claims": sorted(known)})]
        measure = partial(with_parameters, plan, options=RunOptions())
        assert set(audit(plan, asked, observe(plan, RunOptions()), measure).rows[0].noticed) == known, name


def test_the_reason_why_no_claim_sees_a_mutant_stands_beside_it():
    row = Row("m", "wrong", unseen="the paper has no number")
    assert Audit("p", 2, {"C": "c"}, [], [row]).unnoticed[0].excused == "m (the paper has no number)"


def test_the_runs_that_a_claim_needs_are_known_without_running():
    experiment = load_experiment(LEHTO)
    needed = {claim.id: {str(case) for case in cases_of(experiment, claim)} for claim in experiment.claims}
    assert needed["L8"] == {"s1.pd", "s1.pd60"}
    assert needed["L12"] == set()
    assert {"s1.red", "s1.fuzzy", "s1.pd"} <= needed["L9"]


def test_a_file_that_is_no_audit_is_none(tmp_path):
    assert read_audit(tmp_path) is None
    for text in ("{", "[]", "{}", json.dumps({"rows": [{}]})):
        (tmp_path / "audit.json").write_text(text)
        assert read_audit(tmp_path) is None
    audit = Audit("p", 2, {"C": "c"}, [], [Row("m", "wrong", noticed=["C"])])
    (tmp_path / "audit.json").write_text(audit.as_json())
    assert read_audit(tmp_path) == audit
