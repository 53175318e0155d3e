"""Classes of a link: their shares, rejected settings, and their record."""

import io
import json

import numpy as np
import pytest
from rich.console import Console

import sojourn as sj
from sojourn import _sojourn
from sojourn.cli import main, output, tables
from tests.support.source_tree import ROOT

EXAMPLES = ROOT / "examples"
LINK = {"name": "up", "from": "a", "to": "b", "rate": "10 Mbit/s", "delay": "5 ms", "duplex": True}


def run(queue, *, groups=("first", "second", "third"), **scenario):
    """Runs bulk groups of four flows each over a link with these classes.

    Returns the classes by name, and the record.
    """
    flows = [{"name": name, "from": "a", "to": "b", "count": 4} for name in groups]
    table = {"duration": "12 s", "warmup": "4 s", "links": [{**LINK, "queue": queue}], "flows": flows, **scenario}
    record = sj.run(sj.Scenario(table))
    return {each["name"]: each for each in record["links"][0]["classes"]}, record


def of_group(name, **more):
    return {"match": {"group": name}, "limit": "60 packets", **more}


def mbit(classes):
    return {name: each["throughput_bps"] / 1e6 for name, each in classes.items()}


def test_strict_classes_leave_to_others_what_they_do_not_use():
    voip = {"name": "voip", "from": "a", "to": "b", "traffic": {"kind": "cbr", "rate": "2 Mbit/s", "size": "500 B"}}
    bulk = {"name": "bulk", "from": "a", "to": "b", "count": 4}
    queue = {"scheduler": "strict", "classes": [of_group("voip"), {"aqm": "fuzzy-red", "limit": "100 packets"}]}
    classes, record = run(queue, flows=[voip, bulk])
    assert mbit(classes) == pytest.approx({"voip": 2, "default": 8}, rel=0.02)
    # A packet of the first class waits for one of the other at most, and its own.
    assert classes["voip"]["wait_ms"]["max"] <= 1500 * 8 / 10e6 * 1e3 + 0.5
    assert classes["voip"]["dropped_total"] == 0 < classes["default"]["dropped"]["early"]
    assert record["links"][0]["dropped_total"] == classes["default"]["dropped_total"]


def test_classes_share_by_their_shares_and_priorities():
    classes = [of_group("first", share=3), of_group("second"), {"limit": "60 packets"}]
    found, _ = run({"scheduler": "drr", "classes": classes})
    assert mbit(found) == pytest.approx({"first": 6, "second": 2, "default": 2}, rel=0.02)
    classes[2]["priority"] = 7
    found, _ = run({"scheduler": "drr", "classes": classes})
    assert mbit(found) == pytest.approx({"first": 0, "second": 0, "default": 10}, abs=0.1)


def test_classes_with_rates_have_them_and_stay_below_their_highest():
    classes = [
        of_group("first", priority=1, rate="2 Mbit/s", ceil="3 Mbit/s"),
        of_group("second", rate="1 Mbit/s"),
        {"rate": "3 Mbit/s", "limit": "60 packets"},
    ]
    found, _ = run({"scheduler": "htb", "classes": classes})
    # `sch_htb` of Linux 6.18 below a root class: 3.00, 1.76 and 5.23 of 10 Mbit/s.
    assert mbit(found) == pytest.approx({"first": 3, "second": 1.75, "default": 5.25}, rel=0.02)
    # Alone, the first class leaves the link idle, which wakes it again.
    alone = {"name": "first", "from": "a", "to": "b", "count": 4}
    late = {"name": "second", "from": "a", "to": "b", "start": "11.9 s"}
    found, record = run({"scheduler": "htb", "classes": classes}, flows=[alone, late])
    assert mbit(found)["first"] == pytest.approx(3, rel=0.01)
    assert record["links"][0]["utilization"] < 0.4


# Parts of the goodput by rate/ceil in Mbit/s: `sch_htb` of Linux 6.18 below a root class of 10 Mbit/s, between two
# network namespaces, a pfifo of 60 packets and a CUBIC flow in each class, 25 s.
KERNEL = {
    "1/4 2/3 3/10": [0.1536, 0.2195, 0.6269],
    "1/10 2/10 3/10": [0.1705, 0.3360, 0.4934],
    "2/3 1/10 3/10": [0.2194, 0.1948, 0.5858],
    "1/2 1/3 1/10 2/10": [0.1307, 0.1348, 0.2445, 0.4901],
}


@pytest.mark.parametrize("rates", KERNEL)
def test_classes_with_rates_share_as_in_the_kernel(rates):
    pairs = [each.split("/") for each in rates.split()]
    names = [f"c{i}" for i in range(len(pairs))]
    classes = [{"rate": f"{rate} Mbit/s", "ceil": f"{ceil} Mbit/s", "limit": "60 packets"} for rate, ceil in pairs]
    for name, each in zip(names[:-1], classes, strict=False):
        each["match"] = {"group": name}
    flows = [{"name": name, "from": "a", "to": "b"} for name in names]
    tcp = {"profile": "linux", "control": {"cc": "cubic"}}
    queue = {"scheduler": "htb", "classes": classes}
    found, _ = run(queue, flows=flows, tcp=tcp, duration="33 s", warmup="8 s")
    parts = [each["throughput_bps"] for each in found.values()]
    assert [part / sum(parts) for part in parts] == pytest.approx(KERNEL[rates], abs=0.01)


def test_a_class_with_a_larger_quantum_gets_more_of_what_is_left():
    classes = [of_group("first", rate="1 Mbit/s"), {"rate": "1 Mbit/s", "limit": "60 packets"}]
    of_rates, _ = run({"scheduler": "htb", "classes": classes})
    classes[0]["quantum"] = "37500 B"
    found, _ = run({"scheduler": "htb", "classes": classes})
    # A round has 12500 B of the other class: a tenth of a second at its rate. 8 Mbit/s are left.
    assert mbit(of_rates)["first"] == pytest.approx(5, rel=0.03)
    assert mbit(found)["first"] == pytest.approx(1 + 8 * 0.75, rel=0.03)


def test_packets_are_known_by_dscp_port_and_codepoint():
    flows = [
        {"name": "ef", "from": "a", "to": "b", "dscp": "ef"},
        {"name": "port", "from": "a", "to": "b", "port": 5060},
        {"name": "ecn", "from": "a", "to": "b", "tcp": {"ecn": True}},
        {
            "name": "web",
            "from": "a",
            "to": "b",
            "traffic": {"kind": "transfers", "every": "100 ms", "size_mean": "20 kB"},
        },
    ]
    classes = [
        {"name": "ef", "match": {"dscp": [46, "cs6"]}},
        {"name": "port", "match": {"port": 5060, "group": ["port", "ecn"]}},
        {"name": "ecn", "match": {"ecn": ["ect0", "ce"]}, "aqm": "codel", "ecn": True},
        {"name": "web", "match": {"group": "web"}},
        {"name": "none"},
    ]
    found, record = run({"scheduler": "drr", "classes": classes}, flows=flows)
    sent = {flow["name"].split("/")[0]: flow["throughput_bps"] for flow in record["flows"]}
    for name in ("ef", "port", "ecn", "web"):
        assert found[name]["throughput_bps"] == pytest.approx(sent[name], rel=0.02), name
    assert found["none"]["arrived"] < 30  # those of the ECN flow without ECT: its handshake and retransmissions
    assert found["ecn"]["marked"] > 0


def test_flows_of_a_class_with_flow_queues_are_served_in_turn():
    flows = [
        {"name": "paced", "from": "a", "to": "b", "traffic": {"kind": "cbr", "rate": "1 Mbit/s", "size": "500 B"}},
        {"name": "bulk", "from": "a", "to": "b", "count": 4},
    ]
    lost = {}
    for queues in (None, 1024):
        own = {} if queues is None else {"flow_queues": queues}
        _, record = run({"scheduler": "strict", "classes": [{"limit": "30 packets", **own}]}, flows=flows)
        lost[queues] = record["flows"][0]["dropped"]
    assert lost[1024] == 0 < lost[None]


def test_a_class_with_the_dual_queue_has_both_queues_of_it():
    tcp = {
        "scalable": {"control": {"cc": "prague"}, "ecn": "l4s"},
        "classic": {"control": {"cc": "cubic"}, "ecn": True},
    }
    flows = [{"name": name, "from": "a", "to": "b", "tcp": each} for name, each in tcp.items()]
    flows.append(
        {"name": "voip", "from": "a", "to": "b", "traffic": {"kind": "cbr", "rate": "1 Mbit/s", "size": "500 B"}}
    )
    # A packet takes 1.2 ms here: the default step of 1 ms would mark every packet that waits for another.
    dual = {"aqm": "dualpi2", "limit": "1000 packets", "ecn": True, "step_thresh": "3 ms"}
    classes, record = run({"scheduler": "strict", "classes": [of_group("voip"), dual]}, flows=flows)
    assert mbit(classes) == pytest.approx({"voip": 1, "default": 9}, rel=0.02)
    scalable, classic, _ = record["groups"]
    assert 0.5 < scalable["goodput_bps"] / classic["goodput_bps"] < 2
    assert scalable["rtt_ms"]["mean"] + 8 < classic["rtt_ms"]["mean"]
    whole = classes["default"]
    assert whole["dropped_total"] == 0 < whole["marked"]
    low, other = whole["queues"]
    assert [low["name"], other["name"]] == ["low-latency", "classic"]
    for count in ("arrived", "departed", "marked", "dropped_total"):
        assert low[count] + other[count] == whole[count]
    assert low["wait_ms"]["mean"] + 8 < other["wait_ms"]["mean"]
    assert "queues" not in classes["voip"]
    assert record.value("links.up.classes.default.queues.classic.marked") == other["marked"]


def test_what_waits_in_each_queue_of_a_class_is_traced():
    flows = [
        {"name": "scalable", "from": "a", "to": "b", "tcp": {"control": {"cc": "prague"}, "ecn": "l4s"}},
        {"name": "classic", "from": "a", "to": "b", "tcp": {"control": {"cc": "cubic"}, "ecn": True}},
    ]
    dual = {"aqm": "dualpi2", "limit": "1000 packets", "ecn": True}
    queue = {"scheduler": "drr", "classes": [{"match": {"group": "scalable"}, **dual}, dual]}
    trace = {"queue": {"links": ["up"], "every": "10 ms"}}
    classes, record = run(queue, flows=flows, trace=trace)
    parts = {n.removeprefix("subqueue/up/"): table for n, table in record.series.items() if n.startswith("subqueue/")}
    assert set(parts) == {*classes, *(f"{name}/{part['name']}" for name in classes for part in classes[name]["queues"])}
    for name, whole in classes.items():
        own = {part["name"]: parts[f"{name}/{part['name']}"] for part in whole["queues"]}
        for part in whole["queues"]:
            inside = own[part["name"]]["t"] >= record["warmup_s"]
            packets = own[part["name"]]["packets"][inside]
            assert packets.mean() == pytest.approx(part["queue"]["mean"], rel=0.1, abs=0.2)
        for column in ("packets", "bytes"):
            np.testing.assert_array_equal(sum(table[column] for table in own.values()), parts[name][column])
        np.testing.assert_array_equal(np.maximum(*(t["oldest_s"] for t in own.values())), parts[name]["oldest_s"])
        np.testing.assert_array_equal(own["classic"]["probability"], parts[name]["probability"])
    # Each packet is in the class of its group, and there in the queue of its kind.
    assert {name: bool(table["packets"].any()) for name, table in parts.items() if "/" in name} == {
        "scalable/low-latency": True,
        "scalable/classic": False,
        "default/low-latency": False,
        "default/classic": True,
    }


def test_the_example_runs_and_telephony_waits_least():
    record = sj.run(str(EXAMPLES / "classes.toml"))
    telephony, web, rest = record["links"][0]["classes"]
    assert [telephony["name"], web["name"], rest["name"]] == ["telephony", "web", "rest"]
    assert telephony["wait_ms"]["p99"] < 1
    assert web["throughput_bps"] == pytest.approx(2 * rest["throughput_bps"], rel=0.05)


def test_classes_within_a_class_share_what_that_has():
    """The outer class has two turns of three, and the inner classes half of these each."""
    inner = [of_group("first"), {}]
    outer = {"name": "both", "match": {"group": ["first", "second"]}, "share": 2, "scheduler": "drr", "classes": inner}
    trace = {"queue": {"links": ["up"], "every": "1 s"}}
    classes, record = run({"scheduler": "drr", "classes": [outer, {"name": "rest"}]}, trace=trace)
    assert mbit(classes) == pytest.approx({"both": 20 / 3, "rest": 10 / 3}, rel=0.03)
    within = {each["name"]: each["throughput_bps"] / 1e6 for each in classes["both"]["queues"]}
    assert within == pytest.approx({"first": 10 / 3, "default": 10 / 3}, rel=0.03)
    assert (record.trace("subqueue/up/both/first")["packets"] > 0).any()


def test_htb_classes_of_a_class_borrow_from_it_and_then_from_the_link():
    """The rates are those that `conformance/oracles/linux/htb.py` measures."""
    inner = [of_group("first", rate="1.07 Mbit/s", priority=1), {"rate": "0.93 Mbit/s", "limit": "60 packets"}]
    outer = {"name": "both", "match": {"group": ["first", "second"]}, "rate": "5.9 Mbit/s", "scheduler": "htb"}
    classes, _ = run(
        {"scheduler": "htb", "classes": [outer | {"classes": inner}, {"name": "rest", "rate": "2.1 Mbit/s"}]}
    )
    within = {each["name"]: each["throughput_bps"] / 1e6 for each in classes["both"]["queues"]}
    assert mbit(classes) | within == pytest.approx({"both": 7.9, "rest": 2.1, "first": 6.97, "default": 0.93}, rel=0.03)


def test_a_class_may_have_the_queues_of_cake_and_its_shaper():
    cake = {"aqm": "cake", "bandwidth": "3 Mbit/s", "diffserv": "besteffort", **of_group("first")}
    classes, _ = run({"scheduler": "strict", "classes": [cake, {}]})
    assert mbit(classes) == pytest.approx({"first": 3, "default": 7}, rel=0.03)


AQMS = len(json.loads(_sojourn.registry())["aqm"])
REFUSED = [
    (
        [{"flow_queues": 9, "scheduler": "strict", "classes": [{}]}],
        ".classes[0].flow_queues: expected them in the classes of this class, got 9 with classes",
    ),
    (
        [{"scheduler": "strict", "classes": [{"share": 2}]}],
        '.classes[0].classes[0].share: expected it with scheduler = "drr"',
    ),
    (
        [{"scheduler": "strict", "classes": [{"aqm": "codle"}]}],
        f".classes[0].classes[0].aqm: expected one of {AQMS} names",
    ),
    ([of_group("fist"), {}], '.classes[0].match.group: expected one of first, got "fist"; did you mean "first"?'),
    (
        [of_group("first")],
        ".classes[0].match: expected none: the last class takes what no class before it takes",
    ),
    ([{}, {}], ".classes[0].match: expected what it takes: only the last class takes what is left, got none"),
    ([], ".classes: expected 1 to 64 classes, got 0"),
    ([{"match": {}}, {}], ".classes[0].match: expected a group, a dscp, a port or an ecn codepoint, got none of them"),
    ([{"share": 2}], '.classes[0].share: expected it with scheduler = "drr", got one with another scheduler'),
    ([{"aqm": "codle"}], f".classes[0].aqm: expected one of {AQMS} names, such as droptail, drophead, red, pi, rem, "),
    ([{"aqm": "codel", "taget": "5 ms"}], ".classes[0]: expected one of target, interval, "),
    ([{"aqm": "red", "min": "x"}], '.classes[0].min: expected a number, got "x"'),
    ([{"aqm": "red", "min": -1}], ".classes[0].min: expected "),
    (
        [{"aqm": "choke", "flow_queues": 9}],
        ".classes[0].flow_queues: expected a discipline that has no more than one queue",
    ),
    (
        [{"aqm": "dualpi2", "flow_queues": 9}],
        ".classes[0].flow_queues: expected a discipline that has no more than one queue",
    ),
    ([{"linux": "pie"}], '.classes[0].linux: expected a discipline of ours in a class, got "pie"'),
    (
        [{"match": {"dscp": 64}}, {}],
        ".classes[0].match.dscp: expected a DSCP: 0 to 63, or a name",
    ),
    ([of_group("first"), {"name": "first"}], '.classes[1].name: expected a name that no other class has, got "first"'),
]


@pytest.mark.parametrize(("classes", "problem"), REFUSED)
def test_classes_that_make_no_sense_are_refused_in_one_line(classes, problem):
    with pytest.raises(sj.ScenarioError) as refused:
        run({"scheduler": "strict", "classes": classes}, groups=["first"])
    said = str(refused.value)
    assert f"links.up.queue{problem}" in said
    assert "\n" not in said


@pytest.mark.parametrize(
    ("queue", "problem"),
    [
        (
            {
                "scheduler": "htb",
                "classes": [{"rate": "2 Mbit/s", "priority": 1, "scheduler": "htb", "classes": [{"rate": "1 Mbit/s"}]}],
            },
            'queue.classes[0].priority: expected none: among "htb" classes only the innermost ones take turns, got 1',
        ),
        ({"scheduler": "htb", "classes": [{}]}, "queue.classes[0].rate: expected the rate that the class has whatever"),
        (
            {"scheduler": "htb", "classes": [of_group("first", rate="6 Mbit/s"), {"rate": "5 Mbit/s"}]},
            "queue.classes[1].rate: expected rates that are together at most 10 Mbit/s, that of the link, got 5 Mbit/s",
        ),
        (
            {"scheduler": "htb", "classes": [{"rate": "6 Mbit/s", "ceil": "5 Mbit/s"}]},
            "queue.classes[0].ceil: expected a rate from that of the class, 6 Mbit/s, to that of the link, 10 Mbit/s",
        ),
        (
            {"scheduler": "drr", "classes": [{"quantum": "1 kB"}]},
            'queue.classes[0].quantum: expected it with scheduler = "htb", got one with another scheduler',
        ),
        (
            {"scheduler": "htb", "classes": [{"rate": "1 Mbit/s", "quantum": "0 B"}]},
            "queue.classes[0].quantum: expected 1 B to 10 MB, got 0 B",
        ),
        ({"scheduler": "fair", "classes": [{}]}, 'queue.scheduler: expected one of strict, drr, htb, got "fair"'),
        (
            {"scheduler": "drr", "classes": [{}], "aqm": "red"},
            "queue: expected one of scheduler, classes, got",
        ),
        ({"classes": [{}]}, "queue: expected a key `scheduler`, got none"),
    ],
)
def test_parts_of_a_link_that_make_no_sense_are_refused(queue, problem):
    with pytest.raises(sj.ScenarioError) as refused:
        run(queue, groups=["first"])
    assert problem in str(refused.value)


def test_run_prints_a_line_for_each_class_below_its_link(capsys):
    main(["run", str(EXAMPLES / "classes.toml")])
    lines = capsys.readouterr().out.splitlines()
    names = [line.split("│")[1].strip() for line in lines if line.startswith("│")]
    assert names[:5] == ["access", "telephony", "web", "rest", "access:back"]


def test_several_seeds_show_a_column_for_each_class_of_a_link(monkeypatch):
    written = io.StringIO()
    for module in (output, tables):
        monkeypatch.setattr(module, "out", Console(file=written, width=200, soft_wrap=True, emoji=False))
    main(["run", str(EXAMPLES / "classes.toml"), "--set", "duration=3 s", "--set", "warmup=1 s", "--seeds", "2"])
    head, _, table = written.getvalue().partition("access:back")[0].partition("┡")
    assert [cell.strip() for cell in head.splitlines()[2].split("┃")[2:-1]] == [
        "link",
        "class telephony",
        "class web",
        "class rest",
        "unit",
    ]
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in table.splitlines() if line.startswith("│")]
    rows = {first: rest for first, *rest in cells}
    assert rows["utilization"][1:] == ["–", "–", "–", "%"]
    link, *classes = (float(cell.split(" ± ")[0]) for cell in rows["throughput"][:-1])
    assert sum(classes) == pytest.approx(link, rel=0.01)


def filtered(queue_filter):
    """Four CUBIC flows and a game's datagrams over DualPI2 with this filter.

    The datagrams have DSCP 45 and are not ECN-capable.
    """
    game = {"kind": "cbr", "rate": "500 kbit/s", "size": "200 B"}
    flows = [
        {"name": "bulk", "from": "a", "to": "b", "count": 4, "tcp": {"profile": "linux", "ecn": True}},
        {"name": "game", "from": "a", "to": "b", "dscp": 45, "traffic": game},
    ]
    queue = {"aqm": "dualpi2", "limit": "1000 packets", "ecn": True}
    if queue_filter:
        queue["filters"] = [{"match": {"dscp": 45}, "class": queue_filter}]
    table = {"duration": "12 s", "warmup": "4 s", "links": [{**LINK, "queue": queue}], "flows": flows}
    record = sj.run(sj.Scenario(table))
    low, classic = record["links"][0]["queues"]
    return low, classic, record.value("flows.game/0.dropped")


def test_a_filter_puts_datagrams_without_ecn_into_the_low_latency_queue():
    low, classic, dropped = filtered("low-latency")
    # 312.5 a second for 8 s. A packet of the other queue takes 1.2 ms to send, and one may be in transit.
    assert low["arrived"] == pytest.approx(2500, abs=2)
    assert low["dropped_total"] == dropped == 0
    assert low["wait_ms"]["max"] < 3 < classic["wait_ms"]["mean"]


def test_what_a_filter_takes_for_scalable_and_cannot_be_marked_is_dropped():
    low, _, dropped = filtered("l4s")
    assert low["arrived"] == pytest.approx(2500, abs=2)
    assert low["dropped_total"] == dropped > 25
    assert low["marked"] == 0


def test_without_a_filter_or_with_one_that_says_classic_datagrams_wait_with_classic_packets():
    without, with_one = filtered(None), filtered("classic")
    assert without == with_one
    assert without[0]["arrived"] == 0
