"""A mutant: a source with one replaced text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """The bytes `begin` to `end` of `file`, which read `old`, read `new` instead."""

    file: str
    line: int
    function: str
    old: str
    new: str
    begin: int
    end: int

    @property
    def name(self) -> str:
        """Identifies the mutant while its function is unchanged, without a line number."""
        return f"{self.file} {self.function}: {' '.join(self.old.split())} -> {' '.join(self.new.split())}"

    def applied(self, source: bytes) -> bytes:
        """Returns the source with the change."""
        return source[: self.begin] + self.new.encode() + source[self.end :]
