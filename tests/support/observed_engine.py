"""The engine with its runs observed: logged, slowed down or interrupted.

Runs are executed one after another, with unchanged results. `RUN_LOG` names a file that gets one line for each run;
`RUN_DELAY` makes every run last that many seconds longer.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from sojourn import _sojourn

COMMAND = [
    "-c",
    f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import observed_engine; "
    "from sojourn.runs import worker_program; worker_program.serve(*sys.argv[1:], observed_engine)",
]
"""The command of a process with this engine, for `sojourn.runs.workers.COMMAND`."""


def run(text, filename, seed=None, laws=None):
    if "RUN_DELAY" in os.environ:
        time.sleep(float(os.environ["RUN_DELAY"]))
    if "RUN_LOG" in os.environ:
        with open(os.environ["RUN_LOG"], "a") as log:
            log.write(f"{filename} {seed}\n")
    return _sojourn.run(text, filename, seed, laws)


def run_many(jobs, threads, on_done=None, laws=None):
    for index, (text, filename, seed) in enumerate(jobs):
        record, series = run(text, filename, seed, laws)
        if on_done:
            on_done(index, record, series)


def __getattr__(name: str) -> Any:
    return getattr(_sojourn, name)
