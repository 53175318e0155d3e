"""Comparisons and sweeps."""

import math
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

import sojourn as sj
from sojourn.cli import main
from sojourn.cli.tables import show_record
from sojourn.compare.cases import controller_axis, parse_named, parse_variation, queue_axis
from sojourn.compare.comparison import NOTHING_RANDOM
from sojourn.compare.links import queued_link
from sojourn.core.errors import Note
from sojourn.core.field_labels import field_label, value_label
from sojourn.core.quantities import common_unit
from sojourn.sweep.plan import read_plan
from tests.support.source_tree import ROOT


def test_a_comparison_is_seed_by_seed(dumbbell):
    found = sj.compare(dumbbell, ["droptail", "red"], seeds=4)
    assert found.link == "bottleneck"
    mean = {m.label: m for m in found.measures}["queue mean"]
    apart = found.differences()["queue mean"]["red"]
    by_hand = [r - d for r, d in zip(found.values("red", mean), found.values("droptail", mean), strict=True)]
    assert apart.mean == pytest.approx(sum(by_hand) / 4)
    assert set(found.table()["queue"]) == {"droptail", "red"}
    assert list(found.table()["case"])[:2] == ["droptail", "red"]
    assert len(found.runs()) == 8


def test_the_limit_stays_the_scenarios(observed, dumbbell, monkeypatch):
    seen = []
    real = observed.run
    monkeypatch.setattr(observed, "run", lambda text, *rest: seen.append(text) or real(text, *rest))
    sj.compare(dumbbell, {"low": {"aqm": "red", "min": 5}}, seeds=1)
    queue = sj.Scenario.from_json(seen[0]).get_path("links.bottleneck.queue")
    assert queue == {"limit": "100 packets", "aqm": "red", "min": 5}


def test_queues_are_read_from_the_command_line():
    assert parse_named("droptail, red(min=5, max=15),fuzzy-red", "queues", "aqm") == {
        "droptail": {"aqm": "droptail"},
        "red(min=5, max=15)": {"aqm": "red", "min": 5, "max": 15},
        "fuzzy-red": {"aqm": "fuzzy-red"},
    }


@pytest.mark.parametrize("text", ["", "red(", "red(min)", "red,red", "a b", "red)x", "red,,pd", "red,", "red(min=5,)"])
def test_other_lists_of_queues_are_refused(text):
    with pytest.raises(sj.UserError, match=r"expected"):
        parse_named(text, "queues", "aqm")


@pytest.mark.parametrize("text", ["links.up.rate=5,,6", "links.up.rate=5,"])
def test_a_variation_has_a_value_between_all_commas(text):
    with pytest.raises(sj.UserError, match=r"--vary links\.up\.rate: expected a value on both sides of each comma"):
        parse_variation(text)


@pytest.mark.parametrize("queues", ["codel,pie", "codel(ecn=true),pie", "droptail,pie"])
def test_queues_do_not_replace_classes_and_the_refusal_names_a_variation_that_can_be_made(queues):
    scenario = sj.load(ROOT / "examples/classes.toml")
    with pytest.raises(sj.UserError, match="expected one queue, got a scheduler with classes") as refused:
        queue_axis(scenario, ["access"], queues)
    path, names = parse_variation(str(refused.value).split("'")[1])
    assert names == [name.partition("(")[0] for name in queues.split(",")]
    for name in names:
        assert scenario.copy().set(path, name).resolved()["links"][0]["queue"]["classes"][0]["aqm"] == name


@pytest.mark.parametrize(("text", "key"), [("red(min=5,min=6)", "aqm"), ("cubic(beta=0.5,beta=0.9)", "cc")])
def test_a_parameter_is_given_once(text, key):
    with pytest.raises(sj.UserError, match=r"expected each parameter once, got \"(min|beta)\" twice$"):
        parse_named(text, "queues", key)


def test_a_note_on_defaults_names_each_discipline_once(dumbbell):
    axis = queue_axis(sj.load(dumbbell), ["bottleneck"], "codel,codel(ecn=true),pd")
    assert axis.notes == ["parameters of codel, pd: the defaults, since the scenario has none"]


def test_only_means_over_seeds_are_headed_with_an_interval(dumbbell):
    assert "95 %" not in sj.compare(dumbbell, ["droptail"], seeds=1).heading
    assert sj.compare(dumbbell, ["droptail"], seeds=2).heading.endswith("2 seeds, mean ± 95 % CI")


def test_the_link_must_be_clear(dumbbell):
    scenario = sj.load(dumbbell).copy()
    assert queued_link(scenario) == "bottleneck"
    with pytest.raises(sj.UserError, match='expected one of bottleneck, bottleneck:back, got "x"'):
        queued_link(scenario, "x")
    links = [{"from": "a", "to": "b"}, {"from": "b", "to": "c"}]
    with pytest.raises(sj.UserError, match="expected the one to compare"):
        queued_link(sj.Scenario({"links": links}))


def test_controllers_are_compared_on_identical_traffic(dumbbell):
    found = sj.compare(dumbbell, cc="reno,cubic,flower+", seeds=2)
    assert list(found.records) == ["reno", "cubic", "flower+"]
    assert set(found.table()["cc"]) == {"reno", "cubic", "flower+"}
    fingerprints = {case: records[0]["fingerprint"] for case, records in found.records.items()}
    alone = sj.run(sj.load(dumbbell).set("tcp.control", {"cc": "cubic"}), seed=1)
    assert fingerprints["cubic"] == alone["fingerprint"]
    assert len(set(fingerprints.values())) == 3


def test_a_group_with_a_controller_of_its_own_keeps_it_unless_it_is_named(dumbbell):
    scenario = sj.load(dumbbell).set("flows.ftp.tcp", {"control": {"cc": "cubic"}})
    with pytest.raises(sj.UserError, match="expected the group that gets the controllers, one of ftp"):
        sj.compare(scenario, cc=["reno"])
    named = controller_axis(scenario, ["reno"], "ftp")
    assert named.changes == {"reno": {"flows.ftp.tcp.control": {"cc": "reno"}}}
    other = {"name": "other", "from": "R0", "to": "R1", "traffic": {"kind": "bulk"}}
    scenario["flows"].append(other)
    of_the_rest = controller_axis(scenario, ["reno"])
    assert list(of_the_rest.changes["reno"]) == ["tcp.control"]
    assert of_the_rest.notes == ["ftp: keeps its own controller"]
    with pytest.raises(sj.UserError, match='one of ftp, other, got "x"'):
        sj.compare(scenario, cc=["reno"], group="x")


def test_any_field_is_compared_and_what_is_given_together_is_combined(dumbbell):
    found = sj.compare(dumbbell, ["droptail", "red"], vary={"flows.ftp.count": [1, 2]}, seeds=1)
    assert list(found.records) == [
        "droptail with count=1",
        "droptail with count=2",
        "red with count=1",
        "red with count=2",
    ]
    assert found.records["red with count=2"][0].value("groups.ftp.flows") == 2
    table = found.table()
    assert list(table["flows.ftp.count"][:4]) == [1, 2, 1, 2]
    with pytest.raises(sj.UserError, match="expected queues, cc or vary, got none"):
        sj.compare(dumbbell)
    with pytest.raises(sj.UserError, match='expected each value once, got "1" twice'):
        sj.compare(dumbbell, vary={"flows.ftp.count": [1, 1]})


@pytest.mark.parametrize(
    ("text", "path", "values"),
    [
        ("flows.ftp.count=1,5", "flows.ftp.count", [1, 5]),
        ("links.bottleneck.rate=5 Mbit/s, 10 Mbit/s", "links.bottleneck.rate", ["5 Mbit/s", "10 Mbit/s"]),
        ('a={x = "1, 2", y = [3, 4]},{x = 5}', "a", [{"x": "1, 2", "y": [3, 4]}, {"x": 5}]),
    ],
)
def test_variations_are_read_from_the_command_line(text, path, values):
    assert parse_variation(text) == (path, values)


def test_a_queue_keeps_the_parameters_that_the_scenario_gives_its_own_kind(dumbbell):
    scenario = sj.load(dumbbell).set(
        "links.bottleneck.queue", {"aqm": "red", "limit": "90 packets", "min": 7, "max": 21}
    )
    axis = queue_axis(scenario, ["bottleneck"], "red,red(max=30),pd,droptail,codel(target=3 ms)")
    tables = {label: table for label, change in axis.changes.items() for table in change.values()}
    assert tables["red"] == {"aqm": "red", "limit": "90 packets", "min": 7, "max": 21}
    assert tables["red(max=30)"] == {"aqm": "red", "limit": "90 packets", "min": 7, "max": 30}
    assert tables["pd"] == {"aqm": "pd", "limit": "90 packets"}
    assert tables["droptail"] == {"aqm": "droptail", "limit": "90 packets"}
    assert tables["codel(target=3 ms)"] == {"aqm": "codel", "limit": "90 packets", "target": "3 ms"}
    assert axis.notes == ["parameters of pd: the defaults, since the scenario has none"]


class Constant:
    """A law that always drops one packet in ten."""

    def step(self, sample):
        return 0.1


def test_laws_in_python_are_compared_and_swept_with_a_cache(dumbbell, tmp_path):
    cache = sj.Store(tmp_path / "cache")
    found = sj.compare(dumbbell, ["droptail", "mine"], 2, laws={"mine": Constant}, cache=cache)
    assert found.records["mine"][0].value("links.bottleneck.probability_mean") == pytest.approx(0.1)
    assert len(cache) == 4
    axes = {"links.bottleneck.queue": [{"aqm": "external", "law": "mine"}, {"aqm": "droptail"}]}
    swept = sj.sweep(dumbbell, axes, 2, laws={"mine": Constant})
    assert list(swept.runs["links.bottleneck.queue"]) == ["mine"] * 2 + ["droptail"] * 2
    assert swept.runs["fingerprint"][0] == found.records["mine"][0]["fingerprint"]
    with (
        ThreadPoolExecutor(1) as pool,
        pytest.raises(sj.UserError, match="executor: expected no laws or controllers in Python"),
    ):
        sj.sweep(dumbbell, axes, laws={"mine": Constant}, executor=pool)
    for part in ("1/2", "2/2"):
        sj.sweep(dumbbell, axes, laws={"mine": Constant}, cache=cache, shard=part)
    assert len(cache) == 6  # both points, whose queues have other limits than those of the comparison
    lock = threading.Lock()
    unknown = {"mine": lambda: Constant() if lock else None}
    with (
        pytest.raises(sj.UserError, match="shard: expected laws and controllers whose runs are cached"),
        pytest.warns(Note),
    ):
        sj.sweep(dumbbell, axes, laws=unknown, cache=cache, shard="1/2")


def test_a_law_that_fails_stops_the_runs_and_says_why(dumbbell):
    class Broken:
        def step(self, sample):
            raise ZeroDivisionError("nothing to divide by")

    with pytest.raises(ZeroDivisionError, match="nothing to divide by") as caught:
        sj.compare(dumbbell, ["droptail", "mine"], [4], laws={"mine": Broken})
    assert caught.value.__notes__ == [f"{dumbbell} with mine: laws.mine: raised at 0.01 s (seed 4)"]


def test_a_law_that_answers_no_probability_is_named_with_case_and_seed_in_every_kind_of_run(dumbbell):
    class Broken:
        def step(self, sample):
            return math.nan if sample.now >= 2 else 0.01

    laws, said = {"mine": Broken}, "laws.mine: expected a probability from 0 to 1 at 2 s, got nan"
    external = {"aqm": "external", "law": "mine"}
    with pytest.raises(sj.ScenarioError, match=f"^{dumbbell} with mine with count=7: {said} [(]seed 4[)]$"):
        sj.compare(dumbbell, ["droptail", "mine"], [4], laws=laws, vary={"flows.ftp.count": [7]})
    with pytest.raises(sj.ScenarioError, match=f"^{dumbbell} with .* = mine: {said} [(]seed 1[)]$"):
        sj.sweep(dumbbell, {"links.bottleneck.queue": [{"aqm": "droptail"}, external]}, laws=laws)
    with pytest.raises(sj.ScenarioError, match=f"^{dumbbell}: {said} [(]seed 3[)]$"):
        sj.run_many(sj.load(dumbbell).set("links.bottleneck.queue", external), [3], laws=laws)


def test_the_name_of_a_law_is_among_those_that_a_queue_can_have(dumbbell):
    with pytest.raises(sj.UserError, match=r'queues: expected one of mine, droptail, .*, got "mien"'):
        sj.compare(dumbbell, ["droptail", "mien"], 1, laws={"mine": Constant})


def comparison_of(values, better="lower"):
    """A comparison of one measure with these values, one for each seed."""
    records = {case: [sj.Record({"scenario": "x", "x": value}) for value in each] for case, each in values.items()}
    seeds = list(range(len(next(iter(values.values())))))
    return sj.Comparison("x", "up", seeds, records, [sj.Measure("x", "x", better=better)])


def test_the_best_are_those_whose_paired_difference_from_the_best_mean_may_be_zero():
    values = {"a": [1.0, 2.0, 3.0, 4.0], "b": [1.1, 1.9, 3.1, 4.0], "c": [2.0, 3.0, 4.1, 5.0]}
    found = comparison_of(values)
    assert found.best(found.measures[0]) == ["a", "b"]
    assert list(found.table()["best"]) == [True, True, False]
    more = comparison_of(values, "higher")
    assert more.best(more.measures[0]) == ["c"]
    assert comparison_of(values, "").best(sj.Measure("x", "x")) == []
    single = comparison_of({case: each[:1] for case, each in values.items()})
    assert single.best(single.measures[0]) == []


def test_several_groups_are_compared_one_by_one(dumbbell):
    scenario = sj.load(dumbbell)
    scenario["flows"].append({"name": "other", "from": "R0", "to": "R1", "traffic": {"kind": "bulk"}})
    labels = [measure.label for measure in sj.compare(scenario, ["droptail"], seeds=1).measures]
    assert {"ftp goodput", "other goodput", "goodput"} <= set(labels)


def test_marks_are_shown_of_a_link_that_marked_and_of_no_other(dumbbell, capsys):
    unmarked = sj.compare(dumbbell, ["red"], seeds=1)
    scenario = sj.load(dumbbell).set("tcp.ecn", True)
    found = sj.compare(scenario, "droptail,red(ecn=true)", seeds=1)
    assert "marked" not in unmarked.estimates()
    shown = {case: one.mean for case, one in found.estimates()["marked"].items()}
    assert shown["droptail"] == 0
    assert shown["red(ecn=true)"] == found.records["red(ecn=true)"][0].value("links.bottleneck.marked") > 0
    assert list(found.runs()["marked"]) == list(shown.values())
    for case, records in found.records.items():
        show_record(records[0])
        assert ("marked" in capsys.readouterr().out) == (shown[case] > 0)
        assert (">marked" in records[0]._repr_html_()) == (shown[case] > 0)


def test_the_round_trip_time_of_each_group_is_compared_where_it_has_one(dumbbell):
    scenario = sj.load(dumbbell)
    constant = {"kind": "cbr", "rate": "100 kbit/s", "size": "200 B"}
    scenario["flows"].append({"name": "voice", "from": "R0", "to": "R1", "traffic": constant})
    found = sj.compare(scenario, ["droptail", "red"], seeds=1)
    assert "voice RTT mean" not in found.estimates()
    for case, one in found.estimates()["ftp RTT mean"].items():
        assert one.mean == found.records[case][0].value("groups.ftp.rtt_ms.mean")
    assert found.estimates()["ftp RTT mean"]["red"].mean < found.estimates()["ftp RTT mean"]["droptail"].mean


def test_a_group_that_is_idle_in_the_first_case_is_compared_in_the_others(dumbbell):
    scenario = sj.load(dumbbell)
    scenario["flows"].append({"name": "late", "from": "R0", "to": "R1", "start": "0 s", "traffic": {"kind": "bulk"}})
    found = sj.compare(scenario, "droptail", vary={"flows.late.start": ["60 s", "0 s"]}, seeds=1)
    idle, sending = found.estimates()["late RTT mean"].values()
    assert np.isnan(idle.mean)
    assert sending.mean > 0


def test_values_are_shown_as_people_write_them():
    assert value_label({"cc": "reno"}) == "reno"
    assert value_label({"aqm": "red", "min": 5, "ecn": True}) == "red(min=5, ecn=true)"
    assert value_label(np.True_) == "true"
    assert value_label({"aqm": "external", "law": "Mine", "interval": "20 ms"}) == "Mine(interval=20 ms)"
    assert value_label({"control": {"cc": "prague"}, "ecn": "l4s"}) == "prague, ecn=l4s"
    assert value_label({"control": {"cc": "external", "controller": "Mine"}}) == "Mine"
    assert field_label("links.bottleneck.queue.limit") == "bottleneck queue limit"
    assert field_label("flows[0].count") == "flow 0 count"
    assert common_unit(["50 packets", "200 packets"]) == "packets"
    assert common_unit(["50 ms", "1 s"]) == "s"
    assert common_unit(["50 ms", "50 packets"]) is None
    assert common_unit(["red"]) is common_unit([7]) is None


def test_an_unknown_baseline_is_refused(dumbbell):
    with pytest.raises(sj.UserError, match="expected one of red"):
        sj.compare(dumbbell, ["red"], seeds=1).differences("pd")


def test_a_sweep_is_the_product_of_its_axes(dumbbell):
    axes = {"links.bottleneck.queue.aqm": ["red", "pd"], "flows.ftp.count": [1, 2, 3]}
    found = sj.sweep(dumbbell, axes, 2)
    assert len(found.runs) == 12
    assert list(found.runs["flows.ftp.count"][:4]) == [1, 1, 2, 2]
    summary = found.summary(["links.bottleneck.queue.mean"])
    assert len(summary) == 6
    assert (summary["n"] == 2).all()
    assert found.summary("links.bottleneck.queue.mean").equals(summary)
    with pytest.raises(
        sj.UserError, match=r"measure: expected one of \d+ names, such as links\.bottleneck\.queue\.mean, "
    ):
        found.summary("links.bottleneck.queue.meen")


def test_variants_set_several_fields_at_once(dumbbell, tmp_path):
    file = tmp_path / "sweep.toml"
    file.write_text(
        'scenario = "dumbbell.toml"\n'
        '[variants.queue.tight]\n"links.bottleneck.queue.aqm" = "red"\n"links.bottleneck.queue.min" = 5\n'
        '[variants.queue.none]\n"links.bottleneck.queue.aqm" = "droptail"\n'
        '[axes]\n"flows.ftp.count" = [1, 2]\n'
    )
    plan = read_plan(file)
    assert len(plan.points) == 4
    assert plan.points[0].labels == {"queue": "tight", "flows.ftp.count": 1}
    assert plan.points[0].scenario.get_path("links.bottleneck.queue.min") == 5
    assert list(sj.sweep(file).runs["queue"]) == ["tight", "tight", "none", "none"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "expected a sweep with `scenario` and `axes`, got nothing"),
        ('scenario = "dumbbell.toml"\naxes = 3', "axes: "),
        ('scenario = "dumbbell.toml"\n[axes]\nduration = []', "at least one value"),
        ('scenario = "dumbbell.toml"\nrepeat = 3\n[axes]\nduration = ["1 s"]', '"repeat"'),
        ('scenario = "dumbbell.toml"\nreplications = 0\n[axes]\nduration = ["1 s"]', "replications: "),
        ('scenario = "none.toml"\n[axes]\nduration = ["1 s"]', "none.toml: cannot read"),
        ('scenario = "dumbbell.toml"\n[variants]\nqueue = 1', "variants.queue"),
        ('scenario = "dumbbell.toml"\n[axes]\n"links.top.rate" = ["1 Mbit/s"]', '"top"'),
        ("scenario = ", "sweep.toml:1:"),
    ],
)
def test_a_wrong_sweep_is_refused_in_one_line(dumbbell, tmp_path, text, says):
    file = tmp_path / "sweep.toml"
    file.write_text(text)
    with pytest.raises(ValueError, match=says) as error:
        sj.sweep(file)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("vary", ["abc", {"flows.ftp.count": 5}, {"flows.ftp.count": "12"}])
def test_values_that_are_no_list_are_refused_in_one_line(dumbbell, vary):
    with pytest.raises(sj.UserError, match="a list of values"):
        sj.compare(dumbbell, vary=vary)


@pytest.mark.parametrize("values", [["40 ms", "40 ms"], [False, "40 ms", False]])
def test_a_value_twice_is_refused_since_its_runs_would_count_twice(dumbbell, values):
    with pytest.raises(sj.UserError, match=r"axes\.tcp\.delayed_ack: expected different values, got .* twice"):
        sj.make_plan(dumbbell, {"tcp.delayed_ack": values}, seeds=2)


def test_a_number_is_one_value_however_it_is_written(dumbbell):
    with pytest.raises(sj.UserError, match=r"axes\.flows\.ftp\.count: expected different values, got 2 twice"):
        sj.make_plan(dumbbell, {"flows.ftp.count": [1, 2, 2]})


def test_variants_have_no_name_that_a_measure_can_have(dumbbell):
    with pytest.raises(sj.UserError, match=r"variants: expected a name without dots"):
        sj.make_plan(dumbbell, variants={"links.bottleneck.utilization": {"a": {"flows.ftp.count": 1}}})


def test_an_axis_of_texts_and_switches_is_written_as_texts(dumbbell, tmp_path):
    found = sj.sweep(dumbbell, {"tcp.delayed_ack": ["40 ms", False]}, seeds=1)
    assert list(found.runs["tcp.delayed_ack"]) == ["40 ms", "false"]
    found.runs.to_parquet(tmp_path / "runs.parquet")


def test_a_summary_that_is_written_in_parts_is_the_summary(dumbbell, tmp_path):
    from sojourn.core.record_files import frames_to_csv, frames_to_parquet

    found = sj.sweep(dumbbell, {"flows.ftp.count": [1, 2, 3], "tcp.delayed_ack": ["40 ms", False]}, 2)
    whole = found.summary()
    parts = list(found.summaries(points=4))
    assert [len(part) * 6 for part in parts] == [4 * len(whole), 2 * len(whole)]
    read = pd.read_parquet(frames_to_parquet(iter(parts), tmp_path / "summary.parquet"))
    pd.testing.assert_frame_equal(read, whole)
    assert frames_to_csv(iter(parts), tmp_path / "summary.csv").read_text() == whole.to_csv(index=False)
    runs = pd.read_parquet(frames_to_parquet(found.rows.tables(5), tmp_path / "runs.parquet"))
    pd.testing.assert_frame_equal(runs, found.runs)
    pd.testing.assert_series_equal(found.rows.means(), found.runs[found.measures].mean())


def test_rows_come_in_their_order_with_columns_of_one_type_in_every_part():
    from sojourn.sweep.run_table import Rows

    rows = Rows(6)
    rows.add(4, {"a": 4.0, "c": 1.0}, {"size": 2.5, "on": True, "delay": False})
    rows.add(0, {"a": 0.0, "b": 7.0}, {"size": 1, "on": False, "delay": "40 ms"})
    rows.add(2, {"a": 2.0, "b": 8.0}, {"size": 3, "on": True, "delay": "50 ms"})
    whole = rows.table()
    assert list(whole.columns) == ["size", "on", "delay", "a", "b", "c"]
    assert [list(whole[name]) for name in ("size", "on", "delay", "a")] == [
        [1.0, 3.0, 2.5],
        [False, True, True],
        ["40 ms", "50 ms", "false"],
        [0.0, 2.0, 4.0],
    ]
    assert whole["b"].isna().tolist() == [False, False, True]
    parts = list(rows.tables(2))
    assert [len(part) for part in parts] == [1, 1, 1]
    assert all(part.dtypes.equals(whole.dtypes) for part in parts)
    pd.testing.assert_frame_equal(pd.concat(parts, ignore_index=True), whole)


def test_the_memory_of_a_sweep_does_not_grow_with_its_measures():
    import tracemalloc

    from sojourn.sweep.run_table import Rows

    def most(runs: int) -> int:
        """The maximum memory for this number of runs with 200 measures each.

        The runs are added, read in parts, and averaged.
        """
        numbers = {f"m{i}": float(i) for i in range(200)}
        tracemalloc.start()
        rows = Rows(runs)
        for index in range(runs):
            rows.add(index, numbers, {"seed": index})
        assert sum(len(table) for table in rows.tables(500)) == runs
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    most(1000)  # what is loaded once
    few, many = most(2000), most(8000)
    assert many - few < 6000 * 100, "bytes for 6,000 runs more; their numbers alone have 1,600 each"


@pytest.mark.parametrize("how", ["full", "broken", "short"])
def test_a_disk_that_fails_under_the_rows_of_a_sweep_is_said_in_one_line(monkeypatch, how):
    from sojourn.core import files, scratch_file
    from sojourn.sweep.run_table import Rows
    from tests.support.failing_disk import FailingDisk

    monkeypatch.setattr(scratch_file.Scratch, "WAITING", 1000)
    numbers = {f"m{i}": float(i) for i in range(20)}

    def work() -> list[float]:
        rows = Rows(30)
        for index in range(30):
            rows.add(index, numbers | {"m1": index}, {"seed": index})
        return list(rows.table()["m1"])

    said, calls = [], 0
    for at in range(40):
        disk = FailingDisk(at, how)
        monkeypatch.setattr(files, "disk", disk)
        try:
            assert work() == list(range(30))
        except files.DiskError as error:
            said.append(str(error))
        calls = max(calls, disk.calls)
    assert 20 < calls < 40
    assert len(said) == calls if how != "short" else 20 < len(said) < calls  # a half of a write is written on
    assert all("temporary file" in line and "\n" not in line for line in said)


def test_runs_without_anything_random_say_that_their_seeds_are_the_same(dumbbell, capsys):
    fixed = ["--set", 'flows.ftp.start="0 s"', "--seeds", "2"]
    main(["run", str(dumbbell), *fixed])
    assert NOTHING_RANDOM in capsys.readouterr().out
    scenario = sj.load(dumbbell).set("flows.ftp.start", "0 s")
    assert NOTHING_RANDOM in sj.compare(scenario, ["droptail"], 2).notes
    assert NOTHING_RANDOM not in sj.compare(scenario, ["droptail", "red"], 2).notes  # RED draws
    assert NOTHING_RANDOM not in sj.compare(scenario, ["droptail"], 1).notes
