"""Texts in JSON that others wrote: how much memory their values may take."""

MOST_VALUES = 2_000_000
"""Values, lists and tables in a text. Each takes at most 200 bytes of memory, and a text of two bytes can have one."""


class TooManyError(ValueError):
    """A text has more values than fit into memory. The message is one line without the name of a file."""


def check_shape(text: str | bytes) -> None:
    """Raises `TooManyError` for a text with more than `MOST_VALUES` values, before it is parsed."""
    marks = ("[", "{", ",", ":")
    found = sum(text.count(mark) if isinstance(text, str) else text.count(mark.encode()) for mark in marks)
    if found > MOST_VALUES:
        raise TooManyError(f"expected at most {MOST_VALUES} values, lists and tables, got about {found}")
