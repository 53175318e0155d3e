"""Pages of one file: a title, an answer, and pictures."""

from __future__ import annotations

import io
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from matplotlib.figure import Figure

from sojourn.plots.style import literal


def render(package: str, **values: Any) -> str:
    """The page of a package as HTML without any other file.

    Its template is `page.html`, which extends `base.html`.
    """
    templates = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("sojourn.plots")]),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    return templates.get_template("page.html").render(values)


def svg(figure: Figure) -> Markup:
    """The figure as an SVG element. Matplotlib escapes its texts."""
    literal(figure)
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None})
    text = file.getvalue()
    return Markup(text[text.index("<svg") :])
