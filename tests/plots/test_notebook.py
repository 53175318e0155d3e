"""Records, comparisons and sweeps at a prompt, in a notebook and in other formats."""

import re

import numpy as np
import pandas as pd
import pytest

import sojourn as sj
from sojourn.cli import main
from sojourn.core.text_format import MOST_ROWS, html_table


@pytest.fixture
def traced(dumbbell):
    return sj.load(dumbbell).set("trace.queue", {"links": ["bottleneck"], "every": "100 ms"})


def rows_of(html: str) -> list[str]:
    return re.findall(r"<tr><th>([^<]*)</th><td", html)


def test_a_representation_is_one_short_line(dumbbell, traced):
    record = sj.run(traced)
    assert repr(record) == "<Record dumbbell, seed 1: 2 links, 3 flows, 1 trace>"
    assert repr(record.series) == "<1 trace: queue/bottleneck>"
    found = sj.compare(dumbbell, ["droptail", "red", "pd", "pie", "codel", "pi"], seeds=1)
    assert repr(found) == "<Comparison of droptail, red, pd, pie and 2 more on dumbbell, link bottleneck, 1 seed>"
    cases = "dumbbell, link bottleneck, 1 seed"
    assert repr(found.plot) == f'<plots of {cases}: overview, means, cdf("wait"), cdf("rtt")>'
    swept = sj.sweep(traced, {"flows.ftp.count": [1, 2]}, 2, series=True)
    assert repr(swept.plot) == f"<plots of a sweep over flows.ftp.count: means of {len(swept.measures)} measures>"
    assert re.fullmatch(
        r"<SweepResult sweep: 2 points × 2 seeds over flows.ftp.count, \d+ measures, with traces>", repr(swept)
    )


def test_a_notebook_shows_tables_with_names_units_and_numbers(dumbbell, traced):
    record = sj.run(traced)
    shown = record._repr_html_()
    assert rows_of(shown) == ["bottleneck", "bottleneck:back", "ftp"]
    assert "<th>queue mean (packets)</th>" in shown
    assert f"{record.value('links.bottleneck.queue.mean'):,.4g}</td>" in shown
    assert rows_of(record.series._repr_html_()) == ["queue/bottleneck"]
    found = sj.compare(dumbbell, ["droptail", "red"], seeds=2)
    assert rows_of(found._repr_html_()).count("queue mean (packets)") == 2
    assert str(found.estimates()["queue mean"]["red"]) in found._repr_html_()
    assert "difference" not in sj.compare(dumbbell, ["red"], seeds=1)._repr_html_()
    swept = sj.sweep(dumbbell, {"flows.ftp.count": [1, 2], "links.bottleneck.queue.aqm": ["red", "pd"]})
    assert rows_of(swept._repr_html_()) == ["1, red", "1, pd", "2, red", "2, pd"]


def test_a_long_table_is_cut_and_names_are_no_markup():
    shown = html_table("<b>", ["", "x & y"], [[f"<i>{i}", "1"] for i in range(MOST_ROWS + 3)])
    assert len(rows_of(shown)) == MOST_ROWS
    assert "3 more rows" in shown
    assert "&lt;b&gt;" in shown
    assert "<i>" not in shown


def test_a_prompt_completes_keys_series_and_columns(dumbbell, traced):
    record = sj.run(traced)
    assert set(record._ipython_key_completions_()) >= {"links", "flows", "total"}
    assert record.series._ipython_key_completions_() == ["queue/bottleneck"]
    # IPython completes after an attribute that it can read without a call: no property in between.
    assert "series" in vars(record)
    assert record.links is record.links
    swept = sj.sweep(dumbbell, {"flows.ftp.count": [1]})
    assert "links.bottleneck.queue.mean" in swept._ipython_key_completions_()
    assert list(swept["links.bottleneck.queue.mean"]) == list(swept.runs["links.bottleneck.queue.mean"])
    with pytest.raises(
        sj.UserError,
        match=r"one of 69 names, such as links.bottleneck.queue.mean, .*got \"links.bottleneck.queue.men\"",
    ):
        swept["links.bottleneck.queue.men"]
    assert list(sj.load(dumbbell)._ipython_key_completions_())[:2] == ["name", "duration"]


def test_series_become_tables_and_datasets_with_units(traced):
    record = sj.run(traced)
    table = record.to_pandas("queue/bottleneck")
    assert table.index.name == "t"
    assert (table["packets"] == record.series["queue/bottleneck"]["packets"]).all()
    with pytest.raises(sj.UserError, match=r"expected one of queue/bottleneck, got .queue/top."):
        record.to_pandas("queue/top")
    tree = record.to_xarray()
    assert tree.attrs["fingerprint"] == record["fingerprint"]
    packets = tree["queue/bottleneck"]["packets"]
    assert packets.attrs["units"] == "packets"
    assert float(packets.sel(t=2.0)) == table["packets"].loc[2.0]


def test_comparisons_and_sweeps_become_datasets(dumbbell):
    found = sj.compare(dumbbell, ["droptail", "red"], seeds=2)
    data = found.to_xarray()
    assert data["queue mean"].dims == ("case", "seed")
    assert data["queue mean"].attrs["units"] == "packets"
    mean = next(m for m in found.measures if m.label == "queue mean")
    assert list(data["queue mean"].sel(case="red")) == found.values("red", mean)
    swept = sj.sweep(dumbbell, {"flows.ftp.count": [1, 2], "links.bottleneck.queue.aqm": ["red", "pd"]}, 2)
    grid = swept.to_xarray()["links.bottleneck.queue.mean"]
    assert dict(grid.sizes) == {"flows.ftp.count": 2, "links.bottleneck.queue.aqm": 2, "seed": 2}
    assert (
        float(grid.sel({"flows.ftp.count": 2, "links.bottleneck.queue.aqm": "pd", "seed": 2}))
        == swept["links.bottleneck.queue.mean"].iloc[-1]
    )


def test_a_sweep_keeps_series_where_it_is_asked_for_them(traced, tmp_path):
    axes = {"flows.ftp.count": [1, 2]}
    assert sj.sweep(traced, axes).series == []
    cache = sj.Store(tmp_path)
    for swept in (
        sj.sweep(traced, axes, 2, series=True, cache=cache),
        sj.sweep(traced, axes, 2, series=True, cache=cache),
    ):
        assert len(swept.series) == len(swept.runs) == 4
        table = swept.series_table("queue/bottleneck")
        assert list(table.columns)[:2] == ["flows.ftp.count", "seed"]
        last = table[(table["flows.ftp.count"] == 2) & (table["seed"] == 2)]
        assert np.array_equal(last["packets"], swept.series[3]["queue/bottleneck"]["packets"])
    with pytest.raises(sj.UserError, match="expected one of queue/bottleneck"):
        swept.series_table("cwnd/ftp")


def test_the_command_writes_the_series_of_a_sweep_where_it_is_asked_to(traced, here):
    (here / "traced.toml").write_text(traced.to_toml())
    (here / "grid.toml").write_text('scenario = "traced.toml"\n[axes]\n"flows.ftp.count" = [1, 2]\n')
    assert main(["sweep", "grid.toml"]) == 0
    assert not (here / "results" / "grid" / "series").exists()
    assert main(["sweep", "grid.toml", "--series"]) == 0
    table = pd.read_parquet(here / "results" / "grid" / "series" / "queue-bottleneck.parquet")
    assert set(table["flows.ftp.count"]) == {1, 2}
    assert set(table.columns) >= {"seed", "t", "packets"}
