"""The diagnosis of an access line: what it finds, recommends and writes."""

import re
import shutil
import subprocess
import types
from dataclasses import replace

import pytest

import sojourn as sj
from sojourn.cli import main
from sojourn.diagnose import diagnosis
from sojourn.diagnose.cases import IDLE, NOW, Shaper, loaded, shapers
from sojourn.diagnose.diagnosis import LATENCY, diagnose, measures
from sojourn.diagnose.line import line_of
from sojourn.diagnose.page import answer, page_of
from sojourn.diagnose.tc import REDIRECT, tc_lines
from tests.support.access_line import access_line


@pytest.fixture(scope="module")
def bloated():
    return diagnose(access_line(), 2)


def test_the_line_is_the_slowest_link_and_its_slower_direction_is_the_upload():
    line = line_of(access_line())
    assert (line.down.link, line.up.link, line.net, line.home) == ("line", "line:back", "isp", "home")
    assert (line.down.rate, line.up.rate, line.rtt) == (100e6, 20e6, 0.020)
    assert line.down.buffer == pytest.approx(0.050, rel=0.01)
    assert line.up.buffer == pytest.approx(0.300, rel=0.01)
    assert str(line.up) == "20 Mbit/s, 300 ms of buffer"
    packets = line_of(access_line().set("links.line.back.queue.limit", "500 packets"))
    assert str(packets.up) == "20 Mbit/s, a buffer of 500 packets, 300 ms if all are full"
    turned = line_of(access_line(), home="isp")
    assert (turned.down.link, turned.up.link, turned.home) == ("line:back", "line", "isp")


def test_a_line_of_two_links_is_found_too():
    links = [
        {"name": "there", "from": "a", "to": "b", "rate": "2 Mbit/s"},
        {"name": "back", "from": "b", "to": "a", "rate": "8 Mbit/s"},
        {"name": "core", "from": "b", "to": "c", "rate": "1 Gbit/s", "duplex": True},
    ]
    flows = [{"name": "f", "from": "a", "to": "b"}]
    line = line_of(sj.Scenario({"duration": "1 s", "links": links, "flows": flows}))
    assert (line.down.link, line.up.link, line.home) == ("back", "there", "a")


@pytest.mark.parametrize(("given", "said"), [({"link": "x"}, "link"), ({"home": "x"}, "home")])
def test_another_link_or_node_is_an_error_that_lists_the_known_ones(given, said):
    with pytest.raises(sj.UserError, match=rf'line.toml: {said}: expected one of .*, got "x"'):
        line_of(access_line(), **given)


def test_a_link_without_a_reverse_link_is_no_line():
    scenario = access_line().set("links.line.duplex", False)
    scenario.set("flows", [])
    with pytest.raises(sj.UserError, match="expected a link with a rate in each direction, got none"):
        line_of(
            sj.Scenario(
                {key: value for key, value in scenario.to_dict().items() if key != "links"}
                | {"links": [{"name": "one", "from": "a", "to": "b", "rate": "1 Mbit/s"}]}
            )
        )


def test_cake_in_the_router_ends_the_bloat_and_its_rates_belong_to_the_directions(bloated):
    what = measures(bloated.line)[LATENCY]
    idle, now, after = (bloated.of(case, what) for case in (IDLE, NOW, bloated.best))
    assert idle.mean == pytest.approx(20, abs=1), "propagation delay of the line"
    assert now.low > 20 + 60, "the uploads fill a buffer of 300 ms"
    assert after.high < 20 + 2 * 5, "CAKE's target is 5 ms in each direction"
    assert bloated.choice in shapers(bloated.line)
    share = bloated.choice.share
    lines = tc_lines(bloated.choice)
    assert lines["up"] == f"tc qdisc replace dev eth0 root cake bandwidth {20_000 * share:.0f}kbit"
    assert lines["down"] == f"tc qdisc replace dev ifb0 root cake bandwidth {100_000 * share:.0f}kbit"


def test_a_shaper_above_the_rate_of_a_slower_line_is_not_recommended(bloated):
    """At 95 % the shaper is as fast as a line 5 % slower, so the queue stays in the line."""
    what = measures(bloated.line)[LATENCY]
    slow = {each.share: bloated.of(f"{each.label}, line 5 % slower", what) for each in shapers(bloated.line)}
    assert slow[0.95].low > slow[0.9].high + 5
    assert bloated.choice.share == 0.9


def test_a_line_with_little_buffer_is_left_as_it_is():
    """A full buffer of 2 ms delays by 2 ms, less than any queue management gains."""
    scenario = access_line().set("links.line.queue.limit", "2 ms").set("links.line.back.queue.limit", "3 ms")
    assert diagnose(scenario, 2).choice is None


def test_without_a_decision_nothing_is_recommended_and_more_seeds_are(bloated):
    open_ = replace(bloated, choice=None, decided=False)
    assert "these seeds don't tell" in answer(open_)
    assert "leave it as it is" in answer(replace(open_, decided=True))


def test_a_choice_needs_an_interval_above_or_below_what_counts(bloated, monkeypatch):
    """CoDel's target, 5 ms, is what counts."""
    now = {"clear": [50.0, 51.0], "small": [21.0, 21.1], "wide": [20.0, 90.0]}
    fixed = types.SimpleNamespace(of=lambda value: value)
    monkeypatch.setattr(diagnosis, "measures", lambda line: {LATENCY: fixed})
    for name, expected in (("clear", (True, True)), ("small", (False, True)), ("wide", (False, False))):
        values = {case: now[name] if case == NOW else [20.0, 20.1] for case in bloated.records}
        choice, decided = diagnosis._choice(bloated.line, values)
        assert (choice is not None, decided) == expected, name


def test_every_case_carries_the_same_load(bloated):
    base = loaded(access_line(), bloated.line)
    assert [(flow["name"], flow.get("count", 1)) for flow in base["flows"]] == [("down", 4), ("up", 4), ("ping", 1)]
    line = [f"{queue} in the line" for queue in ("fq-codel", "pie", "dualpi2", "policer")]
    assert bloated.cases == [NOW, *line, *(f"cake at {share}% in the router" for share in (95, 90, 85))]


def test_the_page_has_four_numbers_two_pictures_and_needs_no_other_file(bloated):
    page = page_of(bloated, ["a <remark>"])
    assert page.count("<svg") == 2
    assert page.count('class="before"') == page.count('class="after"') == 4
    assert page.count(" ± ") >= 8
    assert "a &lt;remark&gt;" in page
    assert not re.search(r'(src|href)="(?!#)', page)
    assert tc_lines(bloated.choice)["up"] in page


@pytest.mark.skipif(not shutil.which("tc") or not shutil.which("unshare"), reason="needs tc and unshare")
def test_tc_accepts_the_commands():
    """`tc` returns 1 for a syntax error, and 2 if the kernel has no such discipline."""
    queues = [{"bandwidth": "90 Mbit/s", "overhead": {"per_packet": "18 B", "mpu": "64 B", "cells": "atm"}}]
    queues += [{"bandwidth": "18 Mbit/s", "overhead": "docsis"}]
    lines = tc_lines(Shaper(0.9, *queues), "lo", "lo")
    assert lines["down"].endswith("root cake bandwidth 90000kbit overhead 18 mpu 64 atm")
    assert lines["up"].endswith("root cake bandwidth 18000kbit docsis")
    commands = [*lines.values(), *REDIRECT[2:]]
    wrong = "tc qdisc replace dev lo root cake bandwith 18000kbit"
    script = "; ".join(
        f"{each.replace('eth0', 'lo').replace('ifb0', 'lo')}; echo code $?" for each in [*commands, wrong]
    )
    found = subprocess.run(["unshare", "-rn", "sh", "-c", script], capture_output=True, text=True, check=False)
    codes = [int(line.split()[1]) for line in found.stdout.splitlines() if line.startswith("code ")]
    if not codes:
        pytest.skip("needs a network namespace")
    assert codes[-1] == 1, "a wrong word is a syntax error"
    assert set(codes[:-1]) <= {0, 2}, found.stderr


def test_the_command_prints_the_setting_and_writes_the_page(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "home.toml").write_text(access_line().to_toml(), encoding="utf-8")
    assert main(["diagnose", "home.toml", "--seeds", "2", "--no-cache"]) == 0
    said = capsys.readouterr().out
    assert "home: down 100 Mbit/s, 50" in said
    assert "tc qdisc replace dev eth0 root cake bandwidth 18000kbit" in said
    assert said.splitlines()[-1].startswith("wrote home-diagnosis.html")
    assert (tmp_path / "home-diagnosis.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_rate_is_no_option_of_a_scenario(tmp_path, capsys):
    file = tmp_path / "home.toml"
    file.write_text(access_line().to_toml(), encoding="utf-8")
    assert main(["diagnose", str(file), "--rate", "1 Mbit/s"]) == 2
    assert "--rate: expected a capture or a Flent result, got the scenario" in capsys.readouterr().err
