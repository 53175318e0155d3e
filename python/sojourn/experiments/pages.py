"""HTML pages from the templates of this package, and the style of verdicts in them."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from sojourn.core.foreign_names import file_name
from sojourn.core.text_format import counted, number
from sojourn.experiments.verdict import Verdict

CLASSES = {
    str(Verdict.REPRODUCED): "good",
    str(Verdict.BY_FIT): "fit",
    str(Verdict.IN_DIRECTION): "fair",
    str(Verdict.NOT_REPRODUCED): "bad",
    str(Verdict.UNDECIDED): "open",
    str(Verdict.NOT_DECIDABLE): "soft",
    "": "",
}
"""The color of a verdict in a page."""
MARKS = {
    str(Verdict.REPRODUCED): "✓",
    str(Verdict.BY_FIT): "≈",
    str(Verdict.IN_DIRECTION): "~",
    str(Verdict.NOT_REPRODUCED): "✗",
    str(Verdict.UNDECIDED): "?",
    str(Verdict.NOT_DECIDABLE): "◇",
    "": "",
}
"""The sign of a verdict."""


def anchor(claim: str) -> str:
    """The anchor of a claim in a page."""
    return f"claim-{file_name(claim)}"


def address(claim: str) -> str:
    """The address of a claim's page, from the report."""
    return f"claims/{file_name(claim)}.html"


def page(template: str, **shown: Any) -> str:
    """A page from a file in `templates`, with its values by name."""
    templates = Environment(
        loader=PackageLoader("sojourn.experiments"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    templates.globals |= {"MARKS": MARKS, "CLASSES": CLASSES}
    templates.filters |= {"number": number, "counted": counted, "anchor": anchor, "address": address}
    return templates.get_template(template).render(**shown)
