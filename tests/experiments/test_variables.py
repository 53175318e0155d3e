"""Values that a paper leaves open: their ranges, their targets, and draws for each seed."""

import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.core.errors import UserError
from sojourn.experiments import load_experiment, reproduce
from sojourn.experiments.model import Case
from sojourn.experiments.schema.toml import check_table
from sojourn.experiments.schema.variables import Variable
from tests.support.source_tree import ROOT

FLOWER = ROOT / "papers" / "flower-2016"


def variable(**table):
    """A variable as written in a file."""
    return check_table({"label": "it", "set": {"a.b": "{x}"}} | table, Variable, "experiment.toml")


@given(st.floats(0, 1, exclude_max=True), st.booleans(), st.booleans())
def test_a_value_lies_in_its_range(u, log, whole):
    found = variable(between=[2, 50], log=log, whole=whole).value(u)
    assert 2 <= found <= 50
    assert isinstance(found, int) == whole


def test_equal_ratios_are_equally_likely_where_log_says_so():
    assert variable(between=[1, 100], log=True).value(0.5) == pytest.approx(10)
    assert variable(between=[1, 100]).value(0.5) == pytest.approx(50.5)


def test_whole_numbers_are_equally_likely_up_to_the_ends():
    each = variable(between=[1, 4], whole=True)
    assert [each.value(u) for u in (0, 0.24, 0.26, 0.49, 0.51, 0.74, 0.76, 0.999)] == [1, 1, 2, 2, 3, 3, 4, 4]


def test_a_value_keeps_its_kind_and_stands_in_texts_lists_and_expressions():
    template = {"a": "{x}", "b": "{x} ms", "c": ["0 s", "{x} s"], "d": {"e": "{3 * x}"}, "f": 7}
    assert variable(between=[1, 2], set=template).changes(5) == {
        "a": 5,
        "b": "5 ms",
        "c": ["0 s", "5 s"],
        "d": {"e": 15},
        "f": 7,
    }
    assert variable(among=[True, {"cc": "reno"}]).changes({"cc": "reno"}) == {"a.b": {"cc": "reno"}}
    assert variable(among=[True, False]).value(0.7) is False


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({}, "between: expected one of between and among, got none"),
        ({"between": [1, 2], "among": [1]}, "between: expected one of between and among, got both"),
        ({"between": [2, 1]}, "between: expected two numbers, the smaller first"),
        ({"between": [0, 1], "log": True}, "log: expected false without a range above 0, got true"),
        ({"between": [0, 1], "set": {"a": "5"}}, "set: expected {x} in one of its texts, got none"),
        ({"between": [0, 1], "set": {}}, "set: expected at least 1 of them"),
    ],
)
def test_a_wrong_range_is_refused_in_one_line(table, says):
    with pytest.raises(UserError) as error:
        variable(**table)
    assert says in str(error.value)


def test_an_expression_of_what_is_no_number_is_refused():
    with pytest.raises(UserError, match="an expression of it where it is a number"):
        variable(among=["red"], set={"a": "{2 * x}"}).changes("red")
    with pytest.raises(UserError, match=r"expected \{x\}"):
        variable(between=[0, 1], set={"a": "{y}"}).changes(0.5)


DRAWS = """
[[draws]]
label = "start of the second flow"
scenarios = ["x9*"]
between = [20, 20.1]
set = { "flows.lbe.start" = ["0 s", "{x} s"] }
"""


def drawing(tmp_path, text):
    """FLOWER's paper with an additional table."""
    copy = tmp_path / "flower"
    shutil.copytree(FLOWER, copy)
    with (copy / "experiment.toml").open("a") as file:
        file.write(text)
    return load_experiment(copy)


def test_what_is_drawn_depends_on_the_seed_alone(tmp_path):
    experiment = drawing(tmp_path, DRAWS)
    one = experiment.drawn(Case("x9", "droptail", "flower"), 1)
    assert one == experiment.drawn(Case("x9s", "droptail", "ledbat"), 1)
    assert one != experiment.drawn(Case("x9", "droptail", "flower"), 2)
    assert 20 <= float(one["flows.lbe.start"][1].removesuffix(" s")) <= 20.1
    assert experiment.drawn(Case("x7", "droptail", "flower"), 1) == {}


def test_a_run_without_draws_is_one_run_and_with_them_it_is_many(tmp_path):
    def case(outcome):
        return outcome.same([Case("x9", "droptail", "flower")])

    plain, drawn = load_experiment(FLOWER), drawing(tmp_path, DRAWS)
    if not plain.file.draws:
        assert case(reproduce(plain, "latecomer", 2))
    outcome = reproduce(drawn, "latecomer", 2)
    assert not case(outcome)
    assert outcome.fingerprint() == reproduce(drawn, "latecomer", 2).fingerprint()


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('["x9*"]', '["y9*"]', "draws[start of the second flow]: expected runs that it changes, got none"),
        (
            "[[draws]]",
            '[[omitted]]\nid = "a"\ngrids = ["none"]',
            "grids: expected one of law, decoy, latecomers",
        ),
    ],
)
def test_a_value_that_changes_no_run_is_refused(tmp_path, old, new, says):
    with pytest.raises(UserError) as error:
        drawing(tmp_path, DRAWS.replace(old, new))
    assert says in str(error.value)
