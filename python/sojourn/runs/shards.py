"""Shards of a sweep, for machines that share a cache.

`3/64` is the third of 64 parts of about equal size.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sojourn.core import files
from sojourn.core.errors import UserError, printed

MOST = 100_000  # the maximum number of runs of a sweep


@dataclass(frozen=True)
class Shard:
    """The part `number` of `count` parts."""

    number: int
    count: int

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    @classmethod
    def parse(cls, text: str, where: str = "shard") -> Shard:
        """Parses a text such as `3/64`. Raises `UserError` for other texts."""
        found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", printed(text), re.ASCII)
        number, count = (int(found[1]), int(found[2])) if found else (0, 0)
        if not 1 <= number <= count <= MOST:
            raise UserError.expected(where, f"NUMBER/COUNT such as 3/64, with 1 <= NUMBER <= COUNT <= {MOST}", text)
        return cls(number, count)

    def of(self, keys: Iterable[str]) -> set[str]:
        """The runs of this shard, from the keys of all distinct runs in the sweep's order.

        Runs are assigned by a permutation that depends only on their number. Long runs of a grid thus spread over all
        shards, and all engines agree on the assignment.
        """
        named = list(keys)
        order = sorted(range(len(named)), key=lambda place: hashlib.sha256(b"%d" % place).digest())
        return {named[place] for place in order[self.number - 1 :: self.count]}

    @contextmanager
    def claim(self, folder: Path, keys: Iterable[str]) -> Iterator[None]:
        """Claims this shard of a sweep with this cache for this process.

        Raises `UserError` if another process has claimed it. The claim ends with the process. Without file locks there
        is no claim, and two processes may repeat the same runs.
        """
        sweep = hashlib.sha256("".join(keys).encode()).hexdigest()[:16]
        with files.locked(folder / f".shard-{self.number}-{self.count}-{sweep}") as free:
            if not free:
                what = "one that no other process does at the same time with this cache"
                raise UserError.expected("shard", what, str(self))
            yield
