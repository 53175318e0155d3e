"""Paths into scenarios and records."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.core import field_paths
from sojourn.core.errors import UserError


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("duration", ["duration"]),
        ("links.bottleneck.queue.min", ["links", "bottleneck", "queue", "min"]),
        ("links.R0->R1.rate", ["links", "R0->R1", "rate"]),
        ('links."a.b".rate', ["links", "a.b", "rate"]),
        ("links.'a.b'.rate", ["links", "a.b", "rate"]),
        ("flows[0].access.delay", ["flows", "0", "access", "delay"]),
        ("flows.ftp/0.goodput_bps", ["flows", "ftp/0", "goodput_bps"]),
    ],
)
def test_paths_are_split_at_dots(path, steps):
    assert field_paths.split(path) == steps


@pytest.mark.parametrize("path", ["", ".", "a..b", "a.", ".a", 'a."b', "a.[0]", "[0]", "a[x]", "a[*]", '"a"b'])
def test_other_paths_are_refused(path):
    with pytest.raises(UserError, match="path"):
        field_paths.split(path)


@given(st.text(max_size=20))
def test_no_text_breaks_the_reader(text):
    try:
        assert all(field_paths.split(text))
    except UserError:
        pass
    except AssertionError:
        assert '""' in text or "''" in text


def tree():
    return {"links": [{"name": "up", "rate": 1, "queue": {"min": 5}}, {"from": "a", "to": "b"}], "tcp": {"mss": 1}}


def test_what_is_put_is_got():
    for path in (
        "links.up.rate",
        "links[1].rate",
        "links.a->b.delay",
        "tcp.window",
        "links.up.queue.max",
        "trace.cwnd",
    ):
        changed = tree()
        field_paths.put(changed, path, 7)
        assert field_paths.get(changed, path) == 7


def test_a_star_means_all():
    changed = tree()
    field_paths.put(changed, "links.*.rate", 9)
    assert field_paths.get(changed, "links.*.rate") == [9, 9]


@pytest.mark.parametrize("path", ["links.up.queue.limit", "links[0].queue.limit", "links.0.queue.limit"])
def test_two_paths_of_one_field_lead_to_one_place(path):
    assert field_paths.selected_fields(tree(), path) == [("links", "0", "queue", "limit")]


def test_a_star_leads_to_all_places():
    every = field_paths.selected_fields(tree(), "links.*.rate")
    assert every == [("links", str(i), "rate") for i in range(len(tree()["links"]))]


@pytest.mark.parametrize(
    ("path", "other", "replaced"),
    [
        ("links.up.queue", "links[0].queue.limit", True),
        ("links[0].queue.limit", "links.up.queue", False),
        ("links[1].rate", "links.up.rate", False),
        ("links.*.rate", "links.up.rate", True),
        ("links.up.rate", "links.*.rate", False),
    ],
)
def test_a_table_replaces_what_is_in_it_and_a_field_leaves_the_rest_of_its_table(path, other, replaced):
    assert field_paths.replaces(tree(), path, other) is replaced


def test_what_is_not_measured_has_nothing_below():
    assert field_paths.get({"wait_ms": None}, "wait_ms.mean") is None


@pytest.mark.parametrize(
    ("path", "says"),
    [("links.down.rate", '"up", "a->b"'), ("links.up.rate.x", "expected a table"), ("links[7].rate", '"up"')],
)
def test_a_wrong_step_is_named_with_what_there_is(path, says):
    with pytest.raises(UserError, match=says):
        field_paths.put(tree(), path, 1, "x.toml")
