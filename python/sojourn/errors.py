"""What can go wrong by a user's hand, each as one line that says what was given and what is taken."""

from __future__ import annotations

from sojourn._sojourn import ScenarioError


class UserError(ValueError):
    """Something given that cannot be used; the message is one line, ready to be shown."""


class Interrupted(KeyboardInterrupt):
    """Stopped by the user between runs; what had finished is kept where there is a cache."""

    def __init__(self, done: int, total: int, kept: bool) -> None:
        self.done, self.total, self.kept = done, total, kept
        what = "are kept: run the same command to go on" if kept else "were not kept: there is no cache"
        super().__init__(f"interrupted: {done} of {total} runs had finished and {what}")


__all__ = ["Interrupted", "ScenarioError", "UserError"]
