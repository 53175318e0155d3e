"""Limits the memory of untrusted JSON texts."""

MOST_VALUES = 2_000_000
"""The maximum number of values, lists and tables in a text.

Each uses up to 200 bytes of memory for two bytes of text.
"""


class TooManyError(ValueError):
    """A text has more values than fit into memory.

    The message is one line without the name of a file.
    """


def check_shape(text: str | bytes) -> None:
    """Raises `TooManyError` for a text with more than `MOST_VALUES` values. Does not parse it."""
    marks = ("[", "{", ",", ":")
    found = sum(text.count(mark) if isinstance(text, str) else text.count(mark.encode()) for mark in marks)
    if found > MOST_VALUES:
        raise TooManyError(f"expected at most {MOST_VALUES} values, lists and tables, got about {found}")
