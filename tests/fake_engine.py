"""A stand-in for the extension module: the same calls, made-up numbers, so that the Python side is tested alone.

`FAKE_DELAY` makes every run last that many seconds; `FAKE_LOG` names a file that gets a line a run.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import time
import tomllib

import numpy as np
import tomli_w

TOP = {"name", "duration", "warmup", "seed", "packet", "links", "tcp", "flows", "trace"}
AQMS = {"droptail": {}, "red": {"min": 15, "max": 45, "max_p": 0.1}, "pd": {"target": 30}, "fuzzy-red": {}}


class ScenarioError(ValueError):
    pass


class Sample:
    pass


def check(text: str, filename: str) -> str:
    tree = tomllib.loads(text)
    for key in tree:
        if key not in TOP:
            raise ScenarioError(f'{filename}: unknown key "{key}"; taken are {", ".join(sorted(TOP))}')
    if not tree.get("links"):
        raise ScenarioError(f"{filename}: links: none given; taken is one or more links")
    for link in tree["links"]:
        queue = link.get("queue", {})
        if queue.get("aqm", "droptail") not in {*AQMS, "external"}:
            raise ScenarioError(f'{filename}: links.queue.aqm: "{queue["aqm"]}"; taken are {", ".join(AQMS)}')
        if "rate" in link and str(link["rate"]).startswith("-"):
            raise ScenarioError(f'{filename}: links.rate: given "{link["rate"]}", taken is a rate above zero')
        if "name" not in link:
            link["name"] = f"{link['from']}->{link['to']}"
    tree.setdefault("seed", 1)
    tree.setdefault("warmup", "0 s")
    return json.dumps(tree)


def run(text, filename, seed=None, laws=None):
    tree = json.loads(check(text, filename))
    seed = tree["seed"] if seed is None else seed
    if "FAKE_DELAY" in os.environ:
        time.sleep(float(os.environ["FAKE_DELAY"]))
    if "FAKE_LOG" in os.environ:
        with open(os.environ["FAKE_LOG"], "a") as log:
            log.write(f"{filename} {seed}\n")
    content = json.dumps({**tree, "name": "", "seed": seed}, sort_keys=True)
    digest = hashlib.sha256(content.encode()).hexdigest()
    rng = np.random.default_rng(int(digest[:8], 16))
    links = [_link(link, rng) for link in tree["links"]]
    if laws:
        law = next(iter(laws.values()))()
        links[0]["probability_mean"] = float(law.step({"backlog_packets": 10.0}))
    record = {
        "scenario": tree.get("name", "scenario"), "seed": seed, "duration_s": 50.0, "warmup_s": 10.0,
        "fingerprint": digest[:16], "links": links, "flows": [_flow(i) for i in range(3)],
        "groups": [{"name": "ftp", "flows": 3, "throughput_bps": 9e6, "goodput_bps": 8.7e6, "jain": 0.99}],
        "total": {"goodput_bps": 8.7e6, "throughput_bps": 9e6, "jain": 0.99, "dropped": 100, "marked": 0},
        "audit": {"sent": 1000, "delivered": 900, "dropped": 100, "in_flight": 0},
    }  # fmt: skip
    t = np.linspace(0.0, 50.0, 51)
    series = {"queue/bottleneck": {"t": t, "packets": 30 + 5 * np.sin(t)}} if "trace" in tree else {}
    return json.dumps(record), series


def _link(link, rng):
    level = {"droptail": 78.0, "red": 33.0, "pd": 30.0}.get(link.get("queue", {}).get("aqm", "droptail"), 26.0)
    mean = level + rng.normal(0, 0.3)
    return {
        "name": link["name"], "rate_bps": 1e7, "utilization": 0.99, "throughput_bps": 9.99e6, "arrived": 50000,
        "departed": 48000, "marked": 0, "dropped": {"early": 1900, "forced": 0, "tail": 10},
        "dropped_total": int(1900 + rng.integers(-20, 20)), "loss_ratio": 0.038,
        "queue": {"mean": mean, "sd": 8 + rng.normal(0, 0.3), "max": 90},
        "queue_bytes": {"mean": mean * 1040, "sd": 8000.0, "max": 90000},
        "wait_ms": {"mean": mean * 0.8, "sd": 6.0, "p50": 25.0, "p90": 33.0, "p95": 35.0, "p99": 40.0, "max": 70.0},
        "probability_mean": 0.036,
    }  # fmt: skip


def _flow(i):
    return {"name": f"ftp/{i}", "group": "ftp", "throughput_bps": 3e6, "goodput_bps": 2.9e6,
            "rtt_ms": {"mean": 70.0, "sd": 5.0, "min": 42.0, "max": 120.0}}  # fmt: skip


def run_many(jobs, threads, on_done=None):
    for index, (text, filename, seed) in enumerate(jobs):
        record, series = run(text, filename, seed)
        if on_done:
            on_done(index, record, series)


def key(text, filename, seed, engine):
    content = [json.loads(check(text, filename)), seed, engine]
    content[0].pop("seed")
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def expand(text, filename, read):
    """The grid of axes alone."""
    from sojourn import paths

    tree = tomllib.loads(text)
    base, base_text = read(tree["scenario"])
    axes = {name: [(v, {name: v}) for v in values] for name, values in tree["axes"].items()}
    points = []
    for chosen in itertools.product(*axes.values()):
        scenario = tomllib.loads(base_text)
        for _, sets in chosen:
            for path, value in sets.items():
                paths.put(scenario, path, value)
        check(tomli_w.dumps(scenario), base)
        labels = [label for label, _ in chosen]
        points.append({"labels": labels, "seed": scenario.get("seed", 1), "scenario": tomli_w.dumps(scenario)})
    return json.dumps({"file": base, "axes": list(axes), "replications": tree.get("replications", 1), "points": points})


def schema():
    """Names and defaults, as the real schema has them."""
    queues = [
        {"properties": {"aqm": {"const": name}, **{k: {"default": v, "description": f"the {k}"} for k, v in p.items()}}}
        for name, p in AQMS.items()
    ]
    return json.dumps(
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": {"Queue": {"oneOf": queues}}}
    )


def registry():
    def entries(names):
        return [{"name": name, "summary": f"made-up {name}"} for name in names]

    kinds = {"aqm": AQMS, "cc": ["reno"], "traffic": ["bulk"], "profile": ["ns2"]}
    return json.dumps({kind: entries(names) for kind, names in kinds.items()})


def surface(queue, backlog, change):
    config = json.loads(queue)
    at = 25.5 if config["aqm"] == "fuzzy-red" else config.get("target", 30)
    return np.clip((backlog[:, None] - at + change[None, :]) / 100, 0, 1)
