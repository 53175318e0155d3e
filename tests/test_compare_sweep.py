"""Comparisons and sweeps."""

import pytest

import sojourn as sj
from sojourn.compare import parse_queues, queued_link
from sojourn.sweep import read_plan


def test_a_comparison_is_seed_by_seed(dumbbell):
    found = sj.compare(dumbbell, ["droptail", "red"], seeds=4)
    assert found.link == "bottleneck"
    mean = {m.label: m for m in found.measures}["queue mean"]
    apart = found.differences()["queue mean"]["red"]
    by_hand = [r - d for r, d in zip(found.values("red", mean), found.values("droptail", mean), strict=True)]
    assert apart.mean == pytest.approx(sum(by_hand) / 4)
    assert set(found.table()["queue"]) == {"droptail", "red"}
    assert len(found.runs()) == 8


def test_the_limit_stays_the_scenarios(observed, dumbbell, monkeypatch):
    seen = []
    real = observed.run
    monkeypatch.setattr(observed, "run", lambda text, *rest: seen.append(text) or real(text, *rest))
    sj.compare(dumbbell, {"low": {"aqm": "red", "min": 5}}, seeds=1)
    queue = sj.Scenario.from_toml(seen[0]).get_path("links.bottleneck.queue")
    assert queue == {"limit": "100 packets", "aqm": "red", "min": 5}


def test_queues_are_read_from_the_command_line():
    assert parse_queues("droptail, red(min=5, max=15),fuzzy-red") == {
        "droptail": {"aqm": "droptail"},
        "red(min=5, max=15)": {"aqm": "red", "min": 5, "max": 15},
        "fuzzy-red": {"aqm": "fuzzy-red"},
    }


@pytest.mark.parametrize("text", ["", "red(", "red(min)", "red,red", "a b", "red)x"])
def test_other_lists_of_queues_are_refused(text):
    with pytest.raises(sj.UserError, match=r"expected"):
        parse_queues(text)


def test_the_link_must_be_clear(dumbbell):
    scenario = sj.load(dumbbell).copy()
    assert queued_link(scenario) == "bottleneck"
    with pytest.raises(sj.UserError, match='expected one of bottleneck, got "x"'):
        queued_link(scenario, "x")
    links = [{"from": "a", "to": "b"}, {"from": "b", "to": "c"}]
    with pytest.raises(sj.UserError, match="expected the link that gets the queues"):
        queued_link(sj.Scenario({"links": links}))


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
        ("", "expected a key `scenario`, got none"),
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


def test_a_cluster_needs_ray(dumbbell, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(sj.UserError, match="pip install"):
        sj.sweep(dumbbell, {"flows.ftp.count": [1]}, cluster=True)


def test_a_cluster_runs_everything_once(observed, dumbbell, monkeypatch):
    import sys
    from types import SimpleNamespace

    ray = SimpleNamespace(
        init=lambda **_: None, get=lambda ref: ref[1], cancel=lambda _: None,
        remote=lambda f: SimpleNamespace(remote=lambda *args: (args[2], observed.run(*args))),
        wait=lambda refs, num_returns: (refs[-1:], refs[:-1]),
    )  # fmt: skip

    class Ref(tuple):
        __hash__ = object.__hash__

    plain = ray.remote
    ray.remote = lambda f: SimpleNamespace(remote=lambda *args: Ref(plain(f).remote(*args)))
    monkeypatch.setitem(sys.modules, "ray", ray)
    axes = {"flows.ftp.count": [1, 2]}
    assert sj.sweep(dumbbell, axes, 2, cluster=True).runs.equals(sj.sweep(dumbbell, axes, 2).runs)
