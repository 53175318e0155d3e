"""From a law to its margins: fluid model, linearization of the real code, exact dead time, swings."""

from sojourn.analysis.hurst import Hurst, hurst
from sojourn.analysis.loop import Loop, rests
from sojourn.analysis.loops import response
from sojourn.analysis.margins import Margins, margins
from sojourn.analysis.plant import Flows, Managed, Plant, Point, Textbook, linear_plant, managed, textbook
from sojourn.analysis.region import stability_map
from sojourn.analysis.swing import LimitCycle

__all__ = [
    "Flows", "Hurst", "LimitCycle", "Loop", "Managed", "Margins", "Plant", "Point", "Textbook", "hurst",
    "linear_plant", "managed", "margins", "response", "rests", "stability_map", "textbook",
]  # fmt: skip
