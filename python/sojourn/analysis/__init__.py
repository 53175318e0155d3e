"""Stability of queue management: fluid model, linear models, margins, limit cycles.

Needs the extra `analysis`.
"""

from sojourn.core.extras import require

require("scipy", "control")

from sojourn.analysis.feedback_loop import Loop
from sojourn.analysis.hurst import Hurst, hurst
from sojourn.analysis.limit_cycle import LimitCycle, predicted_limit_cycle, simulated_limit_cycle
from sojourn.analysis.margins import Margins, margins
from sojourn.analysis.plant import Flows, Managed, Plant, Point, Textbook, linear_plant, managed, textbook
from sojourn.analysis.region import stability_map
from sojourn.analysis.spectrum import queue_spectrum
from sojourn.analysis.transfer import response

__all__ = [
    "Flows",
    "Hurst",
    "LimitCycle",
    "Loop",
    "Managed",
    "Margins",
    "Plant",
    "Point",
    "Textbook",
    "hurst",
    "linear_plant",
    "managed",
    "margins",
    "predicted_limit_cycle",
    "queue_spectrum",
    "response",
    "simulated_limit_cycle",
    "stability_map",
    "textbook",
]
