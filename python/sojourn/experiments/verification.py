"""`results.json` of a report, and the statement of a second rerun that compares with it.

A statement has the digests of both inputs, the differences, and both machines, so that it can be checked and signed.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sojourn.core import files
from sojourn.core.errors import RunError, UserError
from sojourn.experiments.artifact import folder_files
from sojourn.experiments.environment import environment
from sojourn.experiments.judging import judge_claims
from sojourn.experiments.model import Case, Experiment
from sojourn.experiments.outcome import Outcome
from sojourn.experiments.reproduce import CaseRequest, RunOptions, run_each

FILE = "results.json"
"""The name of the file in the folder of a report."""
NAMESPACE = "sojourn"
"""The namespace of signatures: `ssh-keygen -Y verify -n sojourn`."""


def sources_digest(experiment: Experiment) -> str:
    """The SHA-256 of the experiment's folder: names and contents of its files."""
    found = {name: hashlib.sha256(data).hexdigest() for name, data in folder_files(experiment.root).items()}
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()


def results(outcome: Outcome) -> dict[str, Any]:
    """What a second machine needs to compare: runs with fingerprints, and verdicts."""
    changes: dict[Case, Any] = {
        case: grid.quick_set if outcome.quick else {} for grid in outcome.grids for case in grid.cases()
    }
    return {
        "experiment": outcome.experiment.id,
        "sources": sources_digest(outcome.experiment),
        "looks": outcome.looks,
        "runs": {
            str(case): {
                "changes": changes.get(case, {}),
                "seeds": outcome.seeds[: len(records)],
                "fingerprints": [str(record.get("fingerprint")) for record in records],
            }
            for case, records in sorted(outcome.records.items())
        },
        "claims": {result.claim.id: str(result.verdict) for result in outcome.results},
        "machine": environment(),
    }


def read_results(path: Path) -> dict[str, Any]:
    """The content of a `results.json`. Raises `UserError` for another file."""
    if not path.is_file():
        raise UserError.expected(str(path), "the results.json of a report", "no file")
    try:
        found = json.loads(files.disk.read(path))
        for each in found["runs"].values():
            if not len(each["seeds"]) == len(each["fingerprints"]) or not isinstance(each["changes"], dict):
                raise ValueError
        str(found["experiment"]), str(found["sources"]), dict(found["claims"]), dict(found["machine"])
        if type(found["looks"]) is not int or found["looks"] < 1:
            raise ValueError
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise UserError.expected(str(path), "the results.json of a report", "another file") from None
    return dict(found)


def verify(path: Path, experiment: Experiment, options: RunOptions) -> dict[str, Any]:
    """Reruns every run of a `results.json`, judges its claims again, and returns the statement."""
    given = read_results(path)
    known = {str(case): case for grid in experiment.grids.values() for case in grid.cases()}
    for name in given["runs"]:
        if name not in known:
            raise UserError.expected(f"{path}: runs", f"cases of {experiment.id}", name)
    asked = [CaseRequest(known[name], each["changes"], each["seeds"]) for name, each in given["runs"].items()]
    records = run_each(experiment, asked, replace(options, cache=None))
    differing = []
    for (name, each), found in zip(given["runs"].items(), records, strict=True):
        prints = [str(record.get("fingerprint")) for record in found]
        pairs = zip(each["seeds"], each["fingerprints"], prints, strict=True)
        differing += [f"{name}, seed {seed}" for seed, one, other in pairs if one != other]
    seeds: list[int] = max((each["seeds"] for each in given["runs"].values()), key=len, default=[])
    by_case = {request.case: found for request, found in zip(asked, records, strict=True)}
    outcome = Outcome(experiment, [], seeds, by_case, looks=given["looks"])
    judge_claims(outcome, [claim for claim in experiment.claims if claim.id in given["claims"]])
    verdicts = {result.claim.id: str(result.verdict) for result in outcome.results}
    changed = [claim for claim, verdict in given["claims"].items() if verdicts.get(claim) != verdict]
    same_sources = sources_digest(experiment) == given["sources"]
    statement: dict[str, Any] = {
        "statement": "These runs were repeated from their scenarios and seeds, and their fingerprints compared.",
        "experiment": experiment.id,
        "results_sha256": hashlib.sha256(files.disk.read(path)).hexdigest(),
        "equal": not differing and not changed and same_sources,
        "same_sources": same_sources,
        "runs": sum(len(each["seeds"]) for each in given["runs"].values()),
        "runs_that_differ": differing,
        "claims": len(given["claims"]),
        "claims_that_differ": changed,
        "first_machine": given["machine"],
        "second_machine": environment(),
    }
    return statement | {"sha256": digest(statement)}


def digest(statement: Mapping[str, Any]) -> str:
    """The SHA-256 of a statement without its own digest, as JSON with sorted keys."""
    plain = {name: value for name, value in statement.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def sign(path: Path, key: Path) -> Path:
    """Signs a file with an SSH key; returns the path of the signature."""
    command = ["ssh-keygen", "-q", "-Y", "sign", "-n", NAMESPACE, "-f", str(key), str(path)]
    signature = path.with_name(f"{path.name}.sig")
    signature.unlink(missing_ok=True)
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise RunError(f"ssh-keygen: {error.strerror or error}") from None
    if done.returncode or not signature.is_file():
        said = (done.stderr.strip().splitlines() or ["no signature"])[0]
        raise UserError.expected("--sign", "a private SSH key", f"{key}: {said}")
    return signature
