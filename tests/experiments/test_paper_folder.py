"""A paper is a folder with its own `extra.py` and schemas; general code names no paper."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sojourn.cli import main
from sojourn.core.errors import UserError
from sojourn.experiments import RunOptions, find_experiment, find_experiments, load_experiment, reproduce
from sojourn.experiments.figures import DRAW, draw_figures
from sojourn.experiments.model import Experiment
from sojourn.experiments.needs import cases_of, covering, left_out
from sojourn.experiments.outcome import Outcome
from sojourn.experiments.report import build_page, write_report
from sojourn.experiments.schema import FILES
from sojourn.experiments.schema.figures import KINDS
from sojourn.experiments.selection import choose
from tests.support.papers import papers
from tests.support.source_tree import ROOT

GENERAL = ROOT / "python" / "sojourn" / "experiments"

PAPER = """
id = "mine-2026"
title = "Mine"
authors = ["A. Uthor"]
venue = "nowhere"
year = 2026
designs.slow = { method = "slow", flows = 60 }

[measures]
drops = { path = "links.bottleneck.dropped_total" }
twice = { series = "queue/bottleneck", column = "packets", take = "twice-the-mean", unit = "packets" }
both = { path = "links.bottleneck.queue.mean + links.bottleneck.queue.mean" }
mean = { path = "links.bottleneck.queue.mean" }
traced = { series = "queue/bottleneck", column = "packets", take = "mean" }
full = { series = "queue/bottleneck", column = "packets", take = "nth-fall", than = 0.9, between = [1, 3], unit = "s" }
peak = { series = "queue/bottleneck", column = "packets", take = "max" }
later = { series = "queue/bottleneck", column = "packets", take = "max", after = "full", between = [0, 1e-3] }

[scenarios.base]
title = "the base"
file = "scenarios/base.toml"
set = { duration = "3 s", warmup = "1 s", "trace.queue" = { links = ["bottleneck"], every = "10 ms" } }

[queues.droptail]
queue = { aqm = "droptail", limit = "20 packets" }

[grids.one]
title = "One"
scenarios = ["base"]
queues = ["droptail"]

[[figures]]
id = "own"
kind = "numbers"
grid = "one"
numbers = [1, 2]
"""

CLAIMS = """
[[claims]]
id = "C1"
where = "Eq. 1"
text = "A half of eight is four"
reason = "Arithmetic."
parts = [{ measure = "half(8)", published = 4, absolute = 0.1 }]

[[claims]]
id = "C2"
where = "Fig. 1"
text = "Twice the mean is twice the mean"
reason = "Arithmetic."
parts = [
  { measure = "base.droptail.twice - 2 * base.droptail.traced", holds = "between -1e-6 and 1e-6" },
  { measure = "base.droptail.both - 2 * base.droptail.mean", holds = "between -1e-6 and 1e-6" },
  { measure = 'design("slow", "flows_seen")', holds = ">= 60" },
  { measure = "met(0.9 * base.droptail.peak - base.droptail.later)", expected = 1, absolute = 0.0 },
]
"""

EXTRA = """
from matplotlib.figure import Figure
from sojourn.analysis.transfer import rational, response
from sojourn.experiments.control_designs import Design
from dataclasses import dataclass


@dataclass
class Share:
    of: "float"


def half(x):
    return Share(0.5).of * x


def slow(flows):
    loop = rational([0.1], [1.0, 0.0])
    return Design(loop, response(loop, 0.1), {"flows_seen": flows})


def numbers(outcome, figure):
    made = Figure()
    made.subplots().plot(figure.numbers)
    return made


FUNCTIONS = {"half": half}
READINGS = {"twice-the-mean": lambda times, values, reading: 2 * float(values.mean())}
DESIGNS = {"slow": slow}
FIGURES = {"numbers": numbers}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A paper with its own extension of every kind."""
    root = tmp_path / "mine-2026"
    (root / "scenarios").mkdir(parents=True)
    shutil.copy(ROOT / "examples" / "dumbbell.toml", root / "scenarios" / "base.toml")
    for name, text in (("experiment.toml", PAPER), ("claims.toml", CLAIMS), ("extra.py", EXTRA)):
        (root / name).write_text(text)
    return root


def test_a_folder_is_all_that_a_paper_needs(folder: Path) -> None:
    outcome = reproduce(load_experiment(folder), seeds=2)
    assert {result.claim.id: str(result.verdict) for result in outcome.results} == {
        "C1": "reproduced",
        "C2": "reproduced",
    }
    assert [drawn.id for drawn in draw_figures(outcome)] == ["own"]


def test_braces_of_a_measure_may_name_the_first_measure_of_a_run(folder: Path) -> None:
    file = folder / "experiment.toml"
    table = 'half = { series = "queue/bottleneck", column = "packets", take = "first-above", than = "{0.5 * peak}" }'
    file.write_text(file.read_text().replace("later = {", f"{table}\nlater = {{"))
    experiment = load_experiment(folder)
    outcome = reproduce(experiment, seeds=1)
    [(case, [record])] = outcome.records.items()
    queue = record.series["queue/bottleneck"]
    inside = queue["t"] >= 1.0
    times, packets = queue["t"][inside], queue["packets"][inside]
    assert experiment.value(case, "half", record) == times[packets >= packets.max() / 2][0]


def test_what_a_paper_says_is_text_in_its_report(folder: Path) -> None:
    text = (folder / "claims.toml").read_text()
    (folder / "claims.toml").write_text(text.replace("A half of eight is four", "A <b>half</b> & 4 < 8"))
    outcome = reproduce(load_experiment(folder), seeds=1)
    page = build_page(outcome, draw_figures(outcome))
    assert "A &lt;b&gt;half&lt;/b&gt; &amp; 4 &lt; 8" in page
    assert "<b>half" not in page


def test_a_quick_look_says_so_at_its_top_and_in_what_it_writes(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    text = (folder / "experiment.toml").read_text()
    changed = 'queues = ["droptail"]\nquick_set = { duration = "2 s" }'
    (folder / "experiment.toml").write_text(text.replace('queues = ["droptail"]', changed))
    assert main(["reproduce", str(folder), "--quick", "--seeds", "1"]) == 0
    said = "A quick look (--quick), not the whole rerun: 1 seed instead of 5; One: duration = 2 s instead of 3 s."
    written = folder / "results" / "mine-2026-quick"
    printed = capsys.readouterr().out
    assert " ".join(printed.split()).index(said) < printed.index("claims")
    assert "report:  results/mine-2026-quick/report-quick.html" in printed
    page = (written / "report-quick.html").read_text()
    assert page.index(said) < page.index("<h1>")
    assert f'<meta name="description" content="{said}">' in page
    assert said.encode() in (written / "figures" / "own.png").read_bytes()
    about = json.loads((written / "about.json").read_text())
    assert (about["quick"], about["seeds"], len(about["shortened"])) == (True, [1], 2)
    assert "Rerun with 1 seed in " in page


def test_fewer_seeds_are_said_and_a_whole_rerun_says_nothing(folder: Path, tmp_path: Path) -> None:
    one = reproduce(load_experiment(folder), seeds=1)
    assert one.caution == "A first look, not the whole rerun: 1 seed instead of 5."
    assert write_report(one, tmp_path / "out")[-1].name == "report.html"
    assert reproduce(load_experiment(folder)).caution == ""


def test_what_stands_between_backticks_is_code_on_the_page(folder: Path, tmp_path: Path) -> None:
    file = folder / "deviations.toml"
    file.write_text("""
[[deviations]]
id = "D1"
what = "A `gentle` RED, x < y"
paper = "None."
here = "`max_p` is <0.1>."
why = "A test."
""")
    page = write_report(reproduce(load_experiment(folder), seeds=1), tmp_path / "out")[-1].read_text()
    assert "A <code>gentle</code> RED, x &lt; y" in page
    assert "<code>max_p</code> is &lt;0.1&gt;." in page


def test_the_page_of_one_experiment_says_how_many_there_are(folder: Path, tmp_path: Path) -> None:
    file = folder / "experiment.toml"
    file.write_text(file.read_text() + '\n[grids.law]\ntitle = "The law"\n')
    experiment = load_experiment(folder)
    first = next(iter(experiment.grids))
    outcome = reproduce(experiment, first)
    page = write_report(outcome, tmp_path / "out")[-1].read_text()
    said = "A part of the paper, not the whole rerun: 1 grid of 2."
    assert page.index(said) < page.index("<h1>")
    assert outcome.caution == ""  # its figures are those of the whole rerun
    fewer = reproduce(experiment, first, seeds=1)
    assert fewer.headline == "A first look, not the whole rerun: 1 grid of 2; 1 seed instead of 5."


def test_listing_papers_loads_nothing_that_takes_seconds() -> None:
    code = "import sys, sojourn.experiments as p; p.find_experiments(); print([m for m in sys.modules if m in %r])"
    slow = ["control", "jinja2", "matplotlib", "pandas", "scipy"]
    done = subprocess.run([sys.executable, "-c", code % slow], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("def half(x):", "def half(x", r"extra.py:\d+: SyntaxError"),
        ("import Figure", "import Picture", "extra.py:2: ImportError"),
        ('FUNCTIONS = {"half": half}', "FUNCTIONS = [half]", "FUNCTIONS: expected a dictionary of functions"),
        ('"twice-the-mean"', '"thrice"', "measures.twice.take: expected one of mean,"),
        ('"numbers": numbers', '"letters": numbers', r"figures\[own\].kind: expected one of surface,"),
        ('"slow": slow', '"fast": slow', 'designs.slow.method: expected fast, got "slow"'),
        ("def slow(flows)", "def slow(packets)", "designs.slow: "),
        ('Design(loop, response(loop, 0.1), {"flows_seen": flows})', "1", "expected a Design"),
    ],
)
def test_a_mistake_in_extra_is_one_line(folder: Path, old: str, new: str, says: str) -> None:
    text = (folder / "extra.py").read_text()
    assert old in text
    (folder / "extra.py").write_text(text.replace(old, new))
    with pytest.raises(UserError, match=says) as error:
        reproduce(load_experiment(folder), seeds=1)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('after = "full"', 'after = "later"', "measures.later.after: expected one of twice, traced, full, peak"),
        ('after = "full", between = [0, 1e-3]', 'after = "full"', "expected between beside after"),
    ],
)
def test_a_time_after_no_event_is_refused(folder: Path, old: str, new: str, says: str) -> None:
    text = (folder / "experiment.toml").read_text()
    assert old in text
    (folder / "experiment.toml").write_text(text.replace(old, new))
    with pytest.raises(UserError, match=says):
        load_experiment(folder)


def test_reading_a_paper_does_not_run_its_python_unless_a_field_needs_it(folder: Path) -> None:
    text = (folder / "experiment.toml").read_text()
    (folder / "experiment.toml").write_text(text[: text.index("[[figures]]")].replace("twice-the-mean", "mean"))
    (folder / "extra.py").write_text("raise RuntimeError")
    assert load_experiment(folder).id == "mine-2026"


def test_general_code_knows_no_paper() -> None:
    """Names of papers, their authors, their own algorithms, and names in their scenarios."""
    words = {"lehto", "FLOWER", "LED", "CPC", "FuzzyRTT", "CHOKeR", "LEDBAT", "RED", "tcp_share", "bottleneck"}
    for folder in (ROOT / "papers").iterdir():
        if (folder / "experiment.toml").exists():
            experiment = load_experiment(folder)
            authors = {author.split()[-1] for author in experiment.file.authors} - {"To"}
            words |= {experiment.id, *experiment.file.aliases, *authors}
    words -= {"led"}  # a word, too
    pattern = re.compile(rf"\b(?:{'|'.join(sorted(map(re.escape, words)))})\b")
    # The default place of a queue, and examples of paths and file names in sentences.
    allowed = ("links.bottleneck.queue", "throughput/client")
    files = sorted(GENERAL.rglob("*.py"))
    assert len(files) > 30
    found = [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()}"
        for file in files
        for number, line in enumerate(file.read_text().splitlines(), start=1)
        if pattern.search(line) and not any(each in line for each in allowed) and "s3.red" not in line
    ]
    assert not found


def test_every_kind_of_figure_can_be_drawn_and_is_used_by_a_paper_or_study() -> None:
    every = [*find_experiments("papers"), *find_experiments("studies")]
    own = {kind for experiment in every for kind in experiment.extra.figures}
    used = {figure.kind for experiment in every for figure in experiment.figures} - own
    assert set(KINDS) == set(DRAW) == used


@pytest.mark.parametrize("name", list(FILES))
def test_the_schema_of_each_file_is_printed_with_a_sentence_for_every_field(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["schema", name]) == 0
    schema = json.loads(capsys.readouterr().out)
    for table in (schema, *schema.get("$defs", {}).values()):
        assert table["additionalProperties"] is False or table["title"] in ("DesignTable", "ExtraFigure")
        for key, field in table["properties"].items():
            assert "description" in field or key == "kind", (table["title"], key)


def test_an_unknown_schema_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "papre"]) == 2
    assert "expected one of scenario, experiment, claims, clause, coverage, deviations" in capsys.readouterr().err


OPTIONAL = """
[grids.more]
title = "A study of ours"
scenarios = ["base"]
queues = ["red"]
optional = true

[queues.red]
queue = { aqm = "red", limit = "20 packets" }
"""
STUDY = """
[[claims]]
id = "O1"
where = "not in the paper"
text = "RED holds a queue"
reason = "A sign."
origin = "ours"
parts = [{ measure = "base.red.mean", holds = "> 0" }]
"""


def test_a_whole_rerun_leaves_out_what_is_optional_and_says_how_to_run_it(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "experiment.toml").write_text((folder / "experiment.toml").read_text() + OPTIONAL)
    (folder / "claims.toml").write_text((folder / "claims.toml").read_text() + STUDY)
    assert main(["reproduce", str(folder), "--seeds", "1", "--no-cache", "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert "left out: more (claims O1); `sojourn reproduce mine-2026 --full` runs all" in " ".join(said.split())
    page = (tmp_path / "out" / "report.html").read_text()
    assert "sojourn reproduce mine-2026 more" in page
    assert "O1: RED holds a queue" in page
    about = json.loads((tmp_path / "out" / "about.json").read_text())
    assert (about["caution"], about["skipped"]) == ("1 seed instead of 5.", 0)
    experiment = load_experiment(folder)
    full = reproduce(experiment, seeds=1, options=RunOptions(full=True))
    assert [each.id for each in full.grids] == ["one", "more"]
    assert "O1" in {result.claim.id for result in full.results}
    alone = reproduce(experiment, "more", seeds=1)
    assert alone.headline.startswith("A first look, not the whole rerun: 1 grid of 2;")
    assert left_out(alone) == []


@pytest.mark.parametrize("experiment", papers(), ids=lambda experiment: experiment.id)
def test_no_claim_of_a_paper_rests_on_what_a_whole_rerun_leaves_out(experiment: Experiment) -> None:
    run = {case for each in choose(experiment).grids for case in each.cases()}
    assert [
        claim.id for claim in experiment.claims if claim.origin == "paper" and not cases_of(experiment, claim) <= run
    ] == []


def test_a_claim_is_listed_under_the_experiments_that_add_runs() -> None:
    experiment = find_experiment("fuzzyrtt")
    grids = choose(experiment).grids
    cases = {claim.id: cases_of(experiment, claim) for claim in experiment.claims}
    names = {name: [each.id for each in covering(cases[name], grids)] for name in ("R5", "R6", "R23")}
    assert names == {"R5": ["y1"], "R6": ["y1", "y1fits"], "R23": ["alone"]}
    assert covering(frozenset(), grids) == []


def test_a_claim_that_was_left_out_is_named_once() -> None:
    experiment = find_experiment("fuzzyrtt")
    run = choose(experiment).grids
    cases = {case for each in run for case in each.cases()}
    skipped = [claim for claim in experiment.claims if not cases_of(experiment, claim) <= cases]
    outcome = Outcome(experiment, run, [1], {case: [] for case in cases}, skipped=skipped)
    named = [claim.id for each in left_out(outcome) for claim in each.claims]
    assert sorted(named) == ["E1", "S1", "S2", "S4"]
