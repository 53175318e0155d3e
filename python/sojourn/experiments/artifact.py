"""The archive for an artifact committee: an experiment's folder, its results and a manifest.

It is one zip file; the manifest has hashes.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

from sojourn.core.errors import UserError
from sojourn.core.files import write_atomic
from sojourn.experiments.environment import environment
from sojourn.experiments.index import ABOUT
from sojourn.experiments.model import Experiment

FIRST = (1980, 1, 1, 0, 0, 0)
"""The time of every file in the archive: equal contents produce equal archives."""


def write_zip(path: Path, experiment: Experiment, results: Path) -> Path:
    """Writes the archive of an experiment and its results.

    `experiment/` is the folder, `results/` the report, and `manifest.json` has all hashes. `README.txt` explains them.
    Raises `UserError` if there are no results.
    """
    if not (results / ABOUT).is_file():
        raise UserError.expected("--zip", f"results with {ABOUT}", results)
    found = {f"experiment/{name}": data for name, data in folder_files(experiment.root).items()}
    found |= {f"results/{name}": data for name, data in folder_files(results).items()}
    about = json.loads(found[f"results/{ABOUT}"])
    quick = " --quick" if about["quick"] else ""
    command = f"sojourn reproduce experiment --seeds {len(about['seeds'])}{quick}"
    found["README.txt"] = _readme(experiment, about, command).encode()
    manifest = {
        "experiment": experiment.id,
        "seeds": about["seeds"],
        "fingerprint": about["fingerprint"],
        "versions": environment(),
        "command": command,
        "sha256": {name: hashlib.sha256(data).hexdigest() for name, data in sorted(found.items())},
    }
    found["manifest.json"] = (json.dumps(manifest, indent=1) + "\n").encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(found.items()):
            archive.writestr(zipfile.ZipInfo(f"{experiment.id}/{name}", FIRST), data, zipfile.ZIP_DEFLATED)
    return write_atomic(path, packed.getvalue())


README = """\
{title}

experiment/     the experiment: scenarios, measures, claims
results/        its results: {page}, figures/, tables/
manifest.json   seeds, versions, and the SHA-256 of every file

{made}
Versions: {versions}.

To run it again, install Sojourn {sojourn}{commit}: `make setup` in its sources, or
`pip install 'sojourn-{sojourn}-....whl[papers]'` with its wheel. Then, in this folder:

    sojourn check experiment
    {command}

The same engine gives the same fingerprint of all runs: {fingerprint}.
"""
"""The text for a reader of the archive."""


def _readme(experiment: Experiment, about: dict[str, Any], command: str) -> str:
    """What the archive contains and how to run it again."""
    facts = environment()
    names = ("Python", "numpy", "scipy", "pandas", "matplotlib", "system")
    return README.format(
        title=experiment.citation,
        page=about["page"],
        made=about["made"],
        versions=", ".join(f"{name} {facts[name]}" for name in names),
        sojourn=facts["sojourn"],
        command=command,
        commit=f", commit {facts['commit']}" if "commit" in facts else "",
        fingerprint=about["fingerprint"],
    )


def folder_files(folder: Path) -> dict[str, bytes]:
    """The files of a folder by their relative names, without results and caches inside it."""
    return {
        name.as_posix(): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
        and not {"results", "__pycache__"} & set((name := file.relative_to(folder)).parts)
        and file.suffix != ".zip"
    }
