"""Papers as data: folders with scenarios, published values, claims and deviations.

The engine reruns them and computes verdicts.
"""

from sojourn.experiments.catalog import find_experiment, find_experiments
from sojourn.experiments.folder import load_experiment
from sojourn.experiments.model import Experiment
from sojourn.experiments.outcome import Outcome
from sojourn.experiments.reproduce import RunOptions, reproduce
from sojourn.experiments.verdict import Verdict

__all__ = [
    "Experiment",
    "Outcome",
    "RunOptions",
    "Verdict",
    "find_experiment",
    "find_experiments",
    "load_experiment",
    "reproduce",
]
