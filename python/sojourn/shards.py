"""Parts of a sweep: `3/64` is the third of 64, of about equal size, which machines do that share a cache alone."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sojourn import files
from sojourn.errors import UserError, printed

MOST = 100_000  # as many runs as a sweep has


@dataclass(frozen=True)
class Shard:
    """The part `number` of `count`."""

    number: int
    count: int

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    @classmethod
    def parse(cls, text: str, where: str = "shard") -> Shard:
        """The shard that a text such as `3/64` names. Raises `UserError` for another text."""
        found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", printed(text), re.ASCII)
        number, count = (int(found[1]), int(found[2])) if found else (0, 0)
        if not 1 <= number <= count <= MOST:
            raise UserError.expected(where, f"NUMBER/COUNT such as 3/64, with 1 <= NUMBER <= COUNT <= {MOST}", text)
        return cls(number, count)

    def of(self, keys: Iterable[str]) -> set[str]:
        """Those of different runs that are in this shard, given by their keys in the order of the sweep.

        Runs are dealt out in an order without a pattern, which their number alone decides: the long ones of a grid
        come to all shards, and machines with other engines deal out alike.
        """
        named = list(keys)
        order = sorted(range(len(named)), key=lambda place: hashlib.sha256(b"%d" % place).digest())
        return {named[place] for place in order[self.number - 1 :: self.count]}

    @contextmanager
    def claim(self, folder: Path, keys: Iterable[str]) -> Iterator[None]:
        """Lets no other process do this shard of a sweep with this cache meanwhile.

        Raises `UserError` where one does. The claim ends with the process; where the file system has no locks there is
        none, and two do the same runs.
        """
        sweep = hashlib.sha256("".join(keys).encode()).hexdigest()[:16]
        with files.locked(folder / f".shard-{self.number}-{self.count}-{sweep}") as free:
            if not free:
                what = "one that no other process does at the same time with this cache"
                raise UserError.expected("shard", what, str(self))
            yield
