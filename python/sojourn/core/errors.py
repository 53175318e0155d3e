"""Errors of user input. Every message is one line: where, what was expected, what was found."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Iterable

from sojourn import _sojourn
from sojourn._sojourn import ScenarioError


class UserError(ValueError):
    """Invalid input.

    Parameters
    ----------
    message : str, default ""
        One line to show to the user.

    Examples
    --------
    >>> raise sj.UserError("x.toml: expected a scenario, got nothing")
    Traceback (most recent call last):
        ...
    sojourn.core.errors.UserError: x.toml: expected a scenario, got nothing
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(shortened(one_line(message), LONGEST_MESSAGE))

    @classmethod
    def expected(cls, where: str, what: str, got: object) -> UserError:
        """The error `WHERE: expected WHAT, got GOT`.

        Parameters
        ----------
        where : str
            The field or argument.
        what : str
            The expectation.
        got : object
            The value found. Strings are quoted.

        Returns
        -------
        UserError
            The error, to be raised.

        Examples
        --------
        >>> str(sj.UserError.expected("seed", "a whole number, 0 or more", -1))
        'seed: expected a whole number, 0 or more, got -1'
        """
        return cls(f"{where}: expected {what}, got {quoted(got)}")

    @classmethod
    def unknown(cls, where: str, got: object, names: Iterable[str]) -> UserError:
        """The error for an unknown name, with the valid names.

        Parameters
        ----------
        where : str
            The field or argument.
        got : object
            The unknown name.
        names : iterable of str
            The valid names. The message lists all if they are few, else the three nearest.

        Returns
        -------
        UserError
            The error, to be raised.

        Examples
        --------
        >>> str(sj.UserError.unknown("--cc", "ren", ["reno", "cubic"]))
        '--cc: expected one of reno, cubic, got "ren"; did you mean "reno"?'
        """
        known = list(names)
        if not isinstance(got, str):
            return cls.expected(where, "a name", got)
        if len(known) <= FEW:
            wanted = f"one of {', '.join(known) or 'none'}"
        else:
            wanted = f"one of {len(known)} names, such as {', '.join(nearest(got, known))}"
        wrong = cls.expected(where, wanted, got)
        return cls(f"{wrong}{meant(got, known)}")


def meant(got: str, names: Iterable[str]) -> str:
    """`; did you mean "NAME"?` for the nearest name, or "" if none is near."""
    found = difflib.get_close_matches(got, list(names), 1, 0.7)
    return f'; did you mean "{found[0]}"?' if found else ""


FEW = 14  # names that a message lists in full


def nearest(got: str, names: Iterable[str], count: int = 3) -> list[str]:
    """The names most similar to the text `got`, at most `count`, best first.

    A dotted name is compared as a whole, and by as many of its last steps as `got` has.
    """

    def likeness(name: str) -> float:
        tail = ".".join(name.split(".")[-(got.count(".") + 1) :])
        wanted = got.lower()
        return max(difflib.SequenceMatcher(None, wanted, text.lower()).ratio() for text in (name, tail))

    return sorted(names, key=likeness, reverse=True)[:count]


def one_line(text: str) -> str:
    """Escapes the characters of a text that would break or disguise a line.

    They are line breaks, bidirectional controls, and invisible and unprintable characters.
    """
    return _sojourn.one_line(unicode(text))


def unicode(text: str) -> str:
    r"""A text that can be written in UTF-8. Undecodable bytes of file names become `\udcff`."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


LONGEST_VALUE = 200  # characters of a value that a message shows; the engine's messages show as many
LONGEST_LABEL = 500
LONGEST_MESSAGE = 2000


def shortened(text: str, most: int) -> str:
    """The text, cut if it is longer than `most` characters."""
    return text if len(text) <= most else f"{text[:most]}... ({len(text)} characters)"


def printed(value: object) -> str:
    """A value as Python prints it.

    If Python refuses, as for a number of 5,000 digits, it is a description.
    """
    try:
        return str(value)
    except Exception:  # a user's class may raise anything
        many = isinstance(value, int)
        return "a whole number of very many digits" if many else f"a {type(value).__name__} that cannot be printed"


def quoted(value: object) -> str:
    """A value as messages show it.

    Text is in double quotation marks, other values are as Python prints them. A long value is shortened.
    """
    text = shortened(printed(value), LONGEST_VALUE)
    return f'"{text}"' if isinstance(value, str) else text


class RunError(RuntimeError):
    """A run that failed: out of memory, killed, or stopped by a limit of the engine.

    The `message` becomes one line.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(one_line(message))


class Note(UserWarning):
    """A warning for users. The `message` becomes one line."""

    def __init__(self, message: str = "") -> None:
        super().__init__(one_line(message))


def note(message: str) -> None:
    """Issues a warning of one line; the command line prints it as `note: MESSAGE`."""
    warnings.warn(Note(message), stacklevel=3)


class Interrupted(KeyboardInterrupt):
    """Stopped by the user between runs. Finished runs are in the cache, if one is used.

    Parameters
    ----------
    done : int
        The number of finished runs.
    total : int
        The number of all runs.
    kept : bool
        Whether a cache is used.
    """

    def __init__(self, done: int, total: int, kept: bool) -> None:
        self.done, self.total, self.kept = done, total, kept
        what = "are in the cache: run the same command again to continue" if kept else "are lost: there is no cache"
        super().__init__(f"interrupted: {done} of {total} runs had finished and {what}")


__all__ = ["Interrupted", "Note", "RunError", "ScenarioError", "UserError"]
