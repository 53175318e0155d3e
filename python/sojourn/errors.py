"""What a user can get wrong. Every message is one line: where, what was expected, what was found."""

from __future__ import annotations

from sojourn._sojourn import ScenarioError


class UserError(ValueError):
    """An input that can't be used. The message is one line, ready to be shown to the user."""

    @classmethod
    def expected(cls, where: str, what: str, got: object) -> UserError:
        """The error `WHERE: expected WHAT, got GOT`; a text that was found stands in quotation marks.

        ```python
        raise UserError.expected("seed", "a whole number, 0 or more", -1)
        ```
        """
        return cls(f"{where}: expected {what}, got {quoted(got)}")


def quoted(value: object) -> str:
    """A value as messages show it: text in double quotation marks, everything else as Python prints it."""
    return f'"{value}"' if isinstance(value, str) else str(value)


class Interrupted(KeyboardInterrupt):
    """Stopped by the user between runs. What had finished is in the cache, if there is one.

    `done` of `total` runs had finished; `kept` says whether there is a cache.
    """

    def __init__(self, done: int, total: int, kept: bool) -> None:
        self.done, self.total, self.kept = done, total, kept
        what = "are in the cache: run the same command again to continue" if kept else "are lost: there is no cache"
        super().__init__(f"interrupted: {done} of {total} runs had finished and {what}")


__all__ = ["Interrupted", "ScenarioError", "UserError"]
