"""The dual queue of the simulator against that of a Linux kernel, alone on the link."""

import statistics
from typing import Any

import pytest

import sojourn as sj
from sojourn.core.errors import UserError
from sojourn.linux.kernel import find_kernel
from sojourn.runs.runner import run_many


def has_kernel() -> bool:
    """Whether a kernel is built.

    These tests use the kernel's own queue, so our code in it may be older.
    """
    try:
        return bool(find_kernel())
    except UserError:
        return False


@pytest.mark.skipif(not has_kernel(), reason="needs the kernel of `sojourn linux build`")
@pytest.mark.parametrize(("memory", "most"), [(102_400, 44), (307_200, 134)])
def test_as_many_packets_wait_under_a_memory_limit_as_in_the_kernels_queue(memory: int, most: int) -> None:
    ours = {"aqm": "dualpi2", "limit": "10000 packets", "ecn": True, "target": "5 s", "memory_limit": f"{memory} B"}
    theirs = {"linux": f"dualpi2 limit 10000 memlimit {memory} target 5s"}
    link: dict[str, Any] = {"name": "l", "from": "a", "to": "b", "rate": "10 Mbit/s", "delay": "20 ms", "duplex": True}
    flow = {
        "name": "f",
        "from": "a",
        "to": "b",
        "count": 4,
        "start": {"uniform": ["0 s", "1 s"]},
        "tcp": {"profile": "linux", "control": {"cc": "cubic"}},
    }
    found = []
    for host, queue in (("simulator", ours), ("linux", theirs)):
        table = {"host": host, "duration": "40 s", "warmup": "5 s", "links": [link | {"queue": queue}], "flows": [flow]}
        records = run_many(sj.Scenario(table), 4)[0]
        # The law has a target that no packet reaches, so all drops are due to the memory limit.
        assert all(each.value("links.l.dropped.early") == 0 < each.value("links.l.dropped.tail") for each in records)
        # The kernel's segments of 1500 B take 2280 B each.
        assert {each.value("links.l.queue.max") for each in records} == {most}
        found.append(statistics.mean(each.value("links.l.queue.mean") for each in records))
    assert found[0] == pytest.approx(found[1], rel=0.02)
