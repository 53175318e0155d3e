"""Impairments that are in effect for a part of the run."""

import pytest

import sojourn as sj
from sojourn import _sojourn
from sojourn.core.errors import ScenarioError

pytestmark = pytest.mark.no_libraries

SCENARIO = """
duration = "10 s"
[[links]]
name = "path"
from = "a"
to = "b"
rate = "100 Mbit/s"
delay = "1 ms"
[[flows]]
name = "udp"
from = "a"
to = "b"
traffic = { kind = "cbr", rate = "8 Mbit/s", size = "1000 B" }
"""


def record(*impairments: dict[str, object]) -> sj.Record:
    return sj.run(sj.Scenario.from_toml(SCENARIO).set("links.path.impairments", list(impairments)))


LOSS = {"kind": "loss", "probability": 1}


def test_packets_are_lost_from_the_start_of_the_window_until_its_end() -> None:
    """A packet each ms: 1000 of them from 2 s until 3 s."""
    did = record({**LOSS, "from": "2 s", "until": "3 s"})["links"][0]["impairments"][0]
    assert did["dropped"] == pytest.approx(1000, abs=1)
    assert did["met"] == pytest.approx(10_000, abs=2), "packets at other times meet it and pass"


def test_a_window_may_have_one_end() -> None:
    early, late = (record({**LOSS, **window}) for window in ({"until": "4 s"}, {"from": "4 s"}))
    dropped = [each["links"][0]["impairments"][0]["dropped"] for each in (early, late)]
    assert dropped == pytest.approx([4000, 6000], abs=2)


def test_a_window_over_the_whole_run_changes_nothing() -> None:
    random = {"kind": "loss", "probability": 0.1}
    assert record(random)["fingerprint"] == record({**random, "from": "0 s", "until": "11 s"})["fingerprint"]


def test_the_window_of_one_changes_no_numbers_of_another() -> None:
    """Both draw from streams by name, and no packet meets both windows."""
    first, second = {"kind": "jitter", "delay": {"uniform": ["0 s", "3 ms"]}}, {"kind": "loss", "probability": 0.1}
    alone = record(second)["links"][0]["impairments"][0]["dropped"]
    both = record({**first, "from": "3 s", "until": "4 s"}, second)["links"][0]["impairments"]
    assert [each["kind"] for each in both] == ["jitter", "loss"]
    assert both[1]["dropped"] == alone
    assert both[0]["delayed"] == pytest.approx(1000, abs=10)


@pytest.mark.parametrize(
    ("window", "said"),
    [
        ({"from": "3 s", "until": "3 s"}, r"impairments\[0\]\.until: expected a time after `from` \(3 s\), got 3 s$"),
        ({"until": "0 s"}, r"impairments\[0\]\.until: expected a time after `from` \(0 s\), got 0 s$"),
        ({"from": 3}, r"impairments\[0\]\.from: expected a time with its unit .* got 3"),
        ({"from": "1000001 s"}, r"impairments\[0\]\.from: expected a time of at most 1000000 s"),
    ],
)
def test_a_window_that_is_none_is_refused_in_one_line(window: dict[str, object], said: str) -> None:
    with pytest.raises(ScenarioError, match=said) as found:
        record({**LOSS, **window})
    assert "\n" not in str(found.value)


def test_a_window_after_the_end_of_the_run_is_noted() -> None:
    scenario = sj.Scenario.from_toml(SCENARIO).set("links.path.impairments", [{**LOSS, "from": "10 s"}])
    expected = "links.path.impairments[0].from: 10 s is not before the end of the run (10 s): it never happens"
    assert expected in scenario.warnings()


def test_the_schema_has_the_window_for_every_kind() -> None:
    schema = _sojourn.schema()
    assert schema.count('"until"') >= 13
