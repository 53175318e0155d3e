"""The files of examples/cluster run a sweep, each run once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import sojourn as sj

CLUSTER = Path(__file__).parents[2] / "examples" / "cluster"
SWEEP = """
scenario     = "minimal.toml"
replications = 2

[axes]
"flows.upload.count" = [1, 2, 3]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a sweep of six runs."""
    minimal = (CLUSTER.parent / "minimal.toml").read_text(encoding="utf-8")
    (tmp_path / "minimal.toml").write_text(minimal, encoding="utf-8")
    (tmp_path / "sweep.toml").write_text(SWEEP, encoding="utf-8")
    return tmp_path


def run(folder: Path, *words: str | Path, **variables: str) -> str:
    """What a command prints in the folder, where `sojourn` is this one."""
    program = folder / "bin" / "sojourn"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m sojourn "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    source = str(Path(sj.__file__).parents[1])
    environment = {**os.environ, **variables, "PATH": path, "PYTHONPATH": source}
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Slurm's scripts are for bash")
def test_the_jobs_of_a_slurm_array_fill_one_cache(folder: Path) -> None:
    for job in ("1", "2"):
        run(folder, "bash", CLUSTER / "array.sbatch", "sweep.toml", SLURM_ARRAY_TASK_ID=job, SLURM_ARRAY_TASK_COUNT="2")
    assert len(sj.Store(folder / "cache")) == 6


@pytest.mark.slow
@pytest.mark.parametrize(("script", "module"), [("on_dask.py", "distributed"), ("on_ray.py", "ray")])
def test_a_cluster_runs_the_sweep(folder: Path, script: str, module: str) -> None:
    pytest.importorskip(module)
    assert "6 runs" in run(folder, sys.executable, CLUSTER / script, "sweep.toml").splitlines()
