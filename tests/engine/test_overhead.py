"""The overhead of the link layer takes time on the link, but is not counted in bytes."""

import pytest

import sojourn as sj


def run(overhead, size="1000 B", **link):
    link = {"name": "up", "from": "a", "to": "b", "rate": "10 Mbit/s", "overhead": overhead, "duplex": True, **link}
    flow = {"name": "cbr", "from": "a", "to": "b", "traffic": {"kind": "cbr", "rate": "4 Mbit/s", "size": size}}
    return sj.run(sj.Scenario({"duration": "10 s", "warmup": "1 s", "links": [link], "flows": [flow]}))["links"]


@pytest.mark.parametrize(
    ("overhead", "size", "on_link"),
    [
        ({}, 1000, 1000),
        ("raw", 1000, 1000),
        ("docsis", 1000, 1018),
        ({"per_packet": "18 B", "mpu": "84 B"}, 60, 84),
        ("pppoe-llcsnap", 1000, 22 * 53),
        ({"per_packet": "40 B", "cells": "atm"}, 1000, 22 * 53),
        ({"cells": "ptm"}, 1000, 1016),
        ({"per_packet": "9 B", "cells": "noatm"}, 1000, 1009),
    ],
)
@pytest.mark.parametrize("aqm", ["droptail", "codel"])
def test_a_packet_takes_the_time_of_what_the_link_layer_makes_of_it(overhead, size, on_link, aqm):
    up, back = run(overhead, f"{size} B", queue={"aqm": aqm})
    assert up["utilization"] == pytest.approx(0.4 * on_link / size, rel=1e-3)
    assert up["throughput_bps"] == pytest.approx(4e6, rel=1e-3)
    assert back["utilization"] == 0


def test_a_full_link_sends_fewer_bytes_and_its_back_link_may_have_other_cells():
    flow = {"name": "bulk", "from": "a", "to": "b", "tcp": {"mss": "1460 B", "header": "40 B", "window": "100 packets"}}
    link = {"name": "up", "from": "a", "to": "b", "rate": "10 Mbit/s", "delay": "5 ms", "duplex": True}
    link |= {"overhead": {"cells": "ptm"}, "back": {"overhead": "pppoe-llcsnap"}}
    trace = {"throughput": {"links": ["*"], "every": "7 ms"}}
    document = {"duration": "10 s", "warmup": "2 s", "links": [link], "flows": [flow], "trace": trace}
    record = sj.run(sj.Scenario(document))
    up, back = record["links"]
    payload = 10e6 * 1500 / 1524
    assert up["utilization"] == pytest.approx(1, abs=1e-3)
    assert up["throughput_bps"] == pytest.approx(payload, rel=1e-3)
    assert record.series["throughput/up"]["bps"][300:] == pytest.approx(payload, rel=1e-2)
    assert back["utilization"] == pytest.approx(back["departed"] / 8 * 106 * 8 / 10e6, rel=1e-3)


def test_what_a_link_layer_adds_uses_a_trace_too(tmp_path):
    file = tmp_path / "slow.csv"
    file.write_text("t,rate\n0,2\n1,4\n2,2\n")
    flow = {"name": "cbr", "from": "a", "to": "b", "traffic": {"kind": "cbr", "rate": "8 Mbit/s", "size": "1000 B"}}
    link = {"name": "up", "from": "a", "to": "b", "trace": {"file": str(file)}, "overhead": {"per_packet": "250 B"}}
    (up,) = sj.run(sj.Scenario({"duration": "30 s", "warmup": "3 s", "links": [link], "flows": [flow]}))["links"]
    assert up["utilization"] == pytest.approx(1, rel=1e-3)
    assert up["throughput_bps"] == pytest.approx(8e6 / 3 * 0.8, rel=1e-3)


@pytest.mark.parametrize(
    ("overhead", "problem"),
    [
        ({"per_packet": "257 B"}, "links.up.overhead.per_packet: expected a size of 0 B to 256 B, got 257 B"),
        ({"mpu": "1 kB"}, "links.up.overhead.mpu: expected a size of 0 B to 256 B, got 1000 B"),
        ({"cells": "aal5"}, "links.up.overhead.cells: expected one of noatm, none, atm, ptm, got"),
        ({"bytes": 3}, "links.up.overhead: expected one of per_packet, mpu, cells, got key"),
        ("docsys", "links.up.overhead: expected one of raw, conservative, ipoa-vcmux, ipoa-llcsnap, bridged-vcmux, "),
        (3, 'links.up.overhead: expected a link layer such as "docsis", or a table such as '),
    ],
)
def test_an_overhead_that_makes_no_sense_is_refused(overhead, problem):
    with pytest.raises(sj.ScenarioError) as refused:
        run(overhead)
    assert problem in str(refused.value)


def test_a_link_without_rate_has_no_overhead():
    with pytest.raises(sj.ScenarioError, match=r"links\.up\.overhead: expected a rate with it, got an overhead"):
        run("ethernet", rate=None)
