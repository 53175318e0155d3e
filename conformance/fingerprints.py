"""Fingerprints of every scenario in the repository, which a refactoring must not change.

`python conformance/fingerprints.py record FILE` runs every scenario of the papers, of the comparison with ns-2 and of
the examples, and the dumbbell with every queue discipline, impairment, controller and TCP profile, and writes their
fingerprints. `check FILE` runs them again and names each run that differs: in its packets (the fingerprint) or in its
record (any other number). The exit code is 1 if one does.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import sojourn as sj
from sojourn import _sojourn

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("examples", "papers", "conformance", "crates/scenario/tests")
PROFILES = ("rfc", "ns2", "ns2-linux", "linux", "freebsd")
NOT_ALONE = {"external", "linux"}  # need a law in Python, a kernel


def scenarios() -> list[Path]:
    """The scenario files of the repository."""
    files = (path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.toml")))
    return [path for path in files if "[[links]]" in path.read_text(encoding="utf-8")]


def registered(kind: str) -> list[str]:
    """The registered names of a kind, as in `sojourn list`."""
    return [entry["name"] for entry in json.loads(_sojourn.registry())[kind]]


def runs() -> Iterator[tuple[str, sj.Scenario]]:
    """Every run with its name."""
    for path in scenarios():
        yield str(path.relative_to(ROOT)), sj.load(path)
    dumbbell = ROOT / "examples" / "dumbbell.toml"
    for aqm in registered("aqm"):
        if aqm not in NOT_ALONE:
            yield f"aqm {aqm}", sj.load(dumbbell).set("links.bottleneck.queue", {"aqm": aqm})
    for entry in json.loads(_sojourn.registry())["impairment"]:
        impairment = {"kind": entry["name"], **entry["parameters"]}
        scenario = sj.load(dumbbell).set("tcp.profile", "linux").set("tcp.ecn", "accurate")
        yield f"impairment {entry['name']}", scenario.set("links.bottleneck.impairments", [impairment])
    for profile in PROFILES:
        for cc in (name for name in registered("cc") if name not in NOT_ALONE):
            scenario = sj.load(dumbbell).set("tcp.profile", profile).set("tcp.control", {"cc": cc})
            yield (
                f"cc {cc} {profile}",
                scenario.set("tcp.ecn", True).set("links.bottleneck.queue", {"aqm": "red", "ecn": True}),
            )


def outcome(run: tuple[str, sj.Scenario]) -> tuple[str, dict[str, str]]:
    """A run's fingerprint and the hash of its record, or the type of its error."""
    name, scenario = run
    try:
        record = sj.run(scenario, seed=1)
    except (sj.UserError, _sojourn.ScenarioError) as error:
        return name, {"refused": type(error).__name__}
    data = json.dumps(dict(record), sort_keys=True)
    return name, {"fingerprint": record["fingerprint"], "record": hashlib.sha256(data.encode()).hexdigest()[:16]}


def main(arguments: list[str]) -> int:
    """Records or checks."""
    if len(arguments) != 2 or arguments[0] not in {"record", "check"}:
        print(__doc__, file=sys.stderr)
        return 2
    verb, file = arguments[0], Path(arguments[1])
    with ThreadPoolExecutor() as pool:
        found = dict(pool.map(outcome, runs()))
    if verb == "record":
        file.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        print(f"{len(found)} runs written to {file}")
        return 0
    known = json.loads(file.read_text(encoding="utf-8"))
    differ = [name for name in sorted({*known, *found}) if known.get(name) != found.get(name)]
    for name in differ:
        print(f"{name}: was {known.get(name)}, is {found.get(name)}")
    print(f"{len(found) - len(differ)} of {len(found)} runs as before")
    return int(bool(differ))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
