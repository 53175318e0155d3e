"""Traces made from the library of paths have the statistics that the library states."""

import math
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from statistics import NormalDist

import numpy as np
import pytest

from sojourn.cli import main
from sojourn.imports.link_traces import Step, write
from sojourn.paths import Array, Quantity, Varying, find, names
from sojourn.paths.generator import trace
from tests.support.source_tree import ROOT, text

sys.path.insert(0, str(ROOT / "scripts"))
import fit_path

VARYING = [name for name in names() if find(name).varying]
RANDOM = [name for name in VARYING if find(name).varying.cv]  # whose rate varies, not the delay alone
SEEDS = range(100)
SIGMAS = 4  # of the mean over all seeds, whose standard error is that of independent traces
# What the model may miss of the measurements: between two percentiles, and with a few time constants.
MODEL_MEAN, MODEL_CV, MODEL_CORRELATION = 0.03, 0.05, 0.1


@dataclass(frozen=True)
class Drawn:
    """A trace: the mean rate of each window in Mbit/s, and the windows without an outage."""

    steps: list[Step]
    rates: Array
    served: Array


@cache
def made(name: str) -> list[Drawn]:
    found, every_ms = varying(name), varying(name).every_ms
    count = 30 + round(2.5e3 * (found.correlation_s or 0) / every_ms)
    return [windows(every_ms, list(trace(find(name), count * every_ms, seed)), count) for seed in SEEDS]


def varying(name: str) -> Varying:
    found = find(name).varying
    assert found is not None
    return found


def windows(every_ms: int, steps: list[Step], count: int) -> Drawn:
    rates, served, at = np.zeros(count), np.ones(count, dtype=bool), 0
    for step in steps:
        rates[at // every_ms] += step.rate_bps / 1e6 * step.span_ms / every_ms
        served[at // every_ms] &= step.rate_bps > 0
        at += step.span_ms
    return Drawn(steps, rates, served)


def agree(name: str, measure: Callable[[Drawn], float], expected: float, model: float = 0.0) -> None:
    values = np.array([measure(each) for each in made(name)])
    error = values.std(ddof=1) / math.sqrt(len(values))
    assert values.mean() == pytest.approx(expected, rel=0, abs=SIGMAS * error + model)


@pytest.mark.parametrize("name", RANDOM)
def test_a_share_of_the_rates_is_below_each_stated_percentile(name: str) -> None:
    total = sum(each.served.sum() for each in made(name)) / len(SEEDS)
    for level, rate in varying(name).rate_mbps.percentiles.items():
        if 5 <= level <= 95:
            agree(name, lambda each, rate=rate: (each.rates[each.served] < rate).sum() / total, level / 100)


@pytest.mark.parametrize("name", RANDOM)
def test_the_model_has_the_mean_variation_and_autocorrelation_of_the_measurements(name: str) -> None:
    """Without randomness: integrals over the distribution."""
    path = varying(name)
    rates = path.rate_mbps.values((np.arange(10_000) + 0.5) / 10_000)
    up = 1 - (path.outages.share if path.outages else 0)
    if path.handover:
        up *= 1 - path.handover.outage_ms / path.handover.period_ms
    mean = up * rates.mean()
    assert mean == pytest.approx(find(name).mean_mbps, rel=MODEL_MEAN)
    if not path.handover:  # its windows are partly without service
        assert math.sqrt(up * (rates**2).mean() - mean**2) / mean == pytest.approx(path.cv, rel=MODEL_CV)
    period = path.handover.period_ms / 1e3 if path.handover else None
    scores = np.array([path.rate_mbps.correlation(path.correlation_s, period)])
    assert fit_path.rate_correlation(path.rate_mbps, scores)[0] == pytest.approx(math.exp(-1), abs=MODEL_CORRELATION)


@pytest.mark.parametrize("name", RANDOM)
def test_traces_have_the_mean_and_the_variation_of_the_measurements(name: str) -> None:
    path, stated = varying(name), find(name).mean_mbps
    agree(name, lambda each: each.rates.mean(), stated, MODEL_MEAN * stated)
    mean = np.mean([each.rates.mean() for each in made(name)])
    # (1 + x)^2 is 1 + 2x for the error x of the coefficient of variation
    square = (path.cv * mean) ** 2
    agree(name, lambda each: ((each.rates - mean) ** 2).mean(), square, 2 * MODEL_CV * square)


@pytest.mark.parametrize("name", RANDOM)
def test_the_autocorrelation_falls_to_1_over_e_at_the_stated_lag(name: str) -> None:
    path = varying(name)
    lag = round(path.correlation_s * 1e3 / path.every_ms)
    rates = np.array([np.where(each.served, each.rates, np.nan) for each in made(name)])
    mean, variance = np.nanmean(rates), np.nanvar(rates)

    pairs = np.mean([(each.served[lag:] & each.served[:-lag]).sum() for each in made(name)])

    def correlation(each: Drawn) -> float:
        apart = np.where(each.served, each.rates - mean, 0.0)
        return float((apart[lag:] * apart[:-lag]).sum() / pairs / variance)

    agree(name, correlation, math.exp(-1), MODEL_CORRELATION)


@pytest.mark.parametrize("name", [name for name in RANDOM if varying(name).outages and not varying(name).handover])
def test_outages_take_the_stated_share_of_time_and_start_as_often_as_stated(name: str) -> None:
    path = varying(name)
    assert path.outages is not None
    agree(name, lambda each: float((~each.served).mean()), path.outages.share)
    end = min(1.0, path.every_ms / 1e3 / path.outages.seconds)
    agree(name, lambda each: float((each.served[:-1] & ~each.served[1:]).mean()), path.outages.share * end)


@pytest.mark.parametrize("name", [name for name in RANDOM if varying(name).handover and varying(name).every_ms < 1000])
def test_the_satellite_changes_every_15_s_with_an_outage_and_a_new_delay(name: str) -> None:
    path = varying(name)
    assert path.handover is not None
    assert path.delay_ms is not None
    steps = list(trace(find(name), 300_000, 3))
    ends = np.cumsum([step.span_ms for step in steps])
    starts = [end - step.span_ms for end, step in zip(ends, steps, strict=True) if step.rate_bps == 0]
    first = [start for start in starts if start - path.every_ms not in starts]
    assert {after - before for before, after in pairwise(first)} == {path.handover.period_ms} == {15_000}
    lost = sum(step.span_ms for step in steps if step.rate_bps == 0)
    assert lost == len(first) * path.handover.outage_ms
    middle = path.delay_ms.percentiles[50.0] * 1e3
    agree(name, lambda each: float(np.mean([step.delay_us < middle for step in each.steps])), 0.5)


@pytest.mark.parametrize("name", [name for name in RANDOM if varying(name).handover])
def test_rates_two_satellites_apart_share_only_the_memory_of_the_model(name: str) -> None:
    path = varying(name)
    apart = 30_000 // path.every_ms
    traces = [windows(path.every_ms, list(trace(find(name), 31_000, seed)), 31_000 // path.every_ms) for seed in SEEDS]
    pairs = np.array([(each.rates[0], each.rates[apart]) for each in traces if each.served[0] and each.served[apart]])
    scores = np.array([path.rate_mbps.correlation(30.0, 15.0)])
    theory = fit_path.rate_correlation(path.rate_mbps, scores)[0]
    # Fisher: the error of a correlation of n pairs is about 1 / sqrt(n - 3).
    assert np.corrcoef(pairs.T)[0, 1] == pytest.approx(theory, abs=SIGMAS / math.sqrt(len(pairs) - 3))
    assert np.corrcoef(pairs.T)[0, 1] < path.rate_mbps.slot_share - 0.1


@pytest.mark.parametrize("name", VARYING)
def test_a_seed_gives_the_same_bytes_and_a_longer_trace_begins_with_the_shorter(tmp_path, name: str) -> None:
    files = [
        write(tmp_path / f"{number}.csv", trace(find(name), 20_000, seed)) for number, seed in enumerate((7, 7, 8))
    ]
    same, again, other = [file.read_bytes() for file in files]
    assert same == again != other
    short, long = list(trace(find(name), 20_000, 7)), list(trace(find(name), 40_000, 7))
    assert long[: len(short)] == short


def test_each_path_names_measurements_that_the_references_list() -> None:
    listed = text(ROOT / "docs" / "references.md")
    for path in map(find, names()):
        for work in [path.source.work, *re.findall(r"\(([a-z]+-20\d\d)\)", path.source.data)]:
            assert f"| `{work}` |" in listed
        assert path.summary
        assert path.source.data
        assert path.source.license
        assert path.source.measured


def test_the_commands_list_a_path_and_make_its_trace(tmp_path, capsys) -> None:
    assert main(["list", "paths", "lte-verizon-2012"]) == 0
    said = capsys.readouterr().out
    for part in ("source: winstein-2013", "license of the source: GPL-3.0-or-later", "5.028 Mbit/s"):
        assert part in said
    file = tmp_path / "lte.down"
    assert main(["trace", "make", str(file), "--path", "lte-verizon-2012", "--duration", "20 s", "--seed", "7"]) == 0
    assert file.read_bytes() == write(tmp_path / "same.down", trace(find("lte-verizon-2012"), 20_000, 7)).read_bytes()
    for arguments, error in [
        (["--path", "lte-verizon"], "error: --path: expected one of"),
        (
            ["--path", "lte-att-2016", "--every", "1 s"],
            'error: --every: expected no such option beside --path, got "1 s"',
        ),
        (
            ["--path", "lte-att-2016", "--duration", "1000000 s", "--kind", "leo"],
            "error: --kind: expected no such option",
        ),
    ]:
        assert main(["trace", "make", str(file), *arguments]) == 2
        assert error in capsys.readouterr().err


def test_the_autocorrelation_of_lognormal_rates_is_that_of_theory() -> None:
    # Of exp(s z) with the correlation r of z: (exp(s^2 r) - 1) / (exp(s^2) - 1).
    spread, scores = 0.5, np.array([0.1, 0.5, 0.9])
    levels = np.arange(0.05, 100, 0.05)
    normal = NormalDist(0, spread)
    rates = Quantity({float(level): math.exp(normal.inv_cdf(float(level) / 100)) for level in levels})
    theory = np.expm1(spread**2 * scores) / math.expm1(spread**2)
    assert fit_path.rate_correlation(rates, scores) == pytest.approx(theory, abs=0.005)


def test_a_fit_to_a_generated_trace_finds_the_figures_of_its_path(tmp_path) -> None:
    path = varying("starlink-2025")
    file = write(tmp_path / "made.csv", trace(find("starlink-2025"), 900_000, 5))
    pieces, outage_ms, _ = fit_path.handover([fit_path.windows(file, 100)], 100, 15_000)
    assert outage_ms == pytest.approx(path.handover.outage_ms, abs=20)  # a tenth of a window's standard error
    kept = pieces[0][~np.isnan(pieces[0])]
    assert np.median(kept) == pytest.approx(path.rate_mbps.percentiles[50.0], rel=0.1)
    assert fit_path.fit([fit_path.windows(file, 100)], 100, 15_000).startswith(
        "[statistics]\nevery_ms = 100\nmean_mbps"
    )
