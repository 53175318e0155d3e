"""A congestion-control laboratory: scenarios, runs, comparisons, sweeps and papers.

The core requires only NumPy. Tables, plots and analysis are extras (`pip install 'sojourn[all]'`).

```python
import sojourn as sj

record = sj.run("dumbbell.toml", seed=1)
record.links.loc["bottleneck", "queue.mean"]
```
"""

from sojourn._sojourn import AckSample, CongestionEvent, Sample
from sojourn.compare.comparison import Comparison, compare
from sojourn.compare.matrix import Matrix, compare_matrix
from sojourn.core.congestion import congest
from sojourn.core.errors import Interrupted, ScenarioError, UserError
from sojourn.core.extras import MissingExtraError
from sojourn.core.ranges import Range
from sojourn.core.record import Record
from sojourn.core.record_schema import Measure
from sojourn.core.responsiveness import Responsiveness, responsiveness
from sojourn.core.scenario import Scenario
from sojourn.core.scenario_files import load, loads
from sojourn.core.stats import Estimate, estimate, jain, paired
from sojourn.imports.measurements import import_file
from sojourn.runs.cluster import Cluster, RayExecutor
from sojourn.runs.runner import run, run_many
from sojourn.runs.store import Store
from sojourn.sweep.plan import Plan, make_plan
from sojourn.sweep.result import SweepResult, sweep

__version__ = "0.1.0"

__all__ = [
    "AckSample",
    "Cluster",
    "Comparison",
    "CongestionEvent",
    "Estimate",
    "Interrupted",
    "Matrix",
    "Measure",
    "MissingExtraError",
    "Plan",
    "Range",
    "RayExecutor",
    "Record",
    "Responsiveness",
    "Sample",
    "Scenario",
    "ScenarioError",
    "Store",
    "SweepResult",
    "UserError",
    "compare",
    "compare_matrix",
    "congest",
    "estimate",
    "import_file",
    "jain",
    "load",
    "loads",
    "make_plan",
    "paired",
    "responsiveness",
    "run",
    "run_many",
    "sweep",
]
