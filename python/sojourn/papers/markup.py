"""The few pieces of HTML that a report is made of; whatever is not markup is escaped."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from html import escape
from importlib import resources


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


def safe(content: object) -> Html:
    """Anything as markup."""
    return content if isinstance(content, Html) else Html(escape(str(content)))


def tag(name: str, *content: object, **attributes: str) -> Html:
    """An element; `cls` is its class."""
    pairs = "".join(
        f' {"class" if key == "cls" else key}="{escape(value)}"' for key, value in attributes.items() if value
    )
    return Html(f"<{name}{pairs}>{''.join(map(safe, content))}</{name}>")


def table(head: Iterable[object], rows: Iterable[Iterable[object]], cls: str = "") -> Html:
    """A table; a cell that is an element of its own (`td`) is taken as it is."""
    body = "".join(tag("tr", *[_cell(cell) for cell in row]) for row in rows)
    top = tag("thead", tag("tr", *[tag("th", cell) for cell in head]))
    return tag("div", tag("table", top, tag("tbody", Html(body)), cls=cls), cls="scroll")


def _cell(cell: object) -> Html:
    return cell if isinstance(cell, Html) and cell.startswith("<td") else tag("td", cell)


def image(data: bytes, kind: str, alt: str, share: float) -> Html:
    """A picture inside the page; `share` of its width, so that letters have one size in all pictures."""
    mime = {"png": "image/png", "svg": "image/svg+xml"}[kind]
    source = f"data:{mime};base64,{base64.b64encode(data).decode()}"
    return Html(f'<img alt="{escape(alt)}" style="width:{58 * share:.1f}rem" src="{source}">')


def page(title: str, *content: object) -> str:
    """A page that needs nothing but itself."""
    style = resources.files("sojourn.papers").joinpath("report.css").read_text(encoding="utf-8")
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    body = "".join(map(safe, content))
    return f'<!doctype html>\n<html lang="en"><head>{head}<style>{style}</style></head>\n<body>{body}</body></html>\n'
