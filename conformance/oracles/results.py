"""The stored numbers of a reference program: one compressed file of named documents."""

from __future__ import annotations

import json
import lzma
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Results:
    """Named JSON documents, such as those of cases.

    The same documents produce the same bytes.
    """

    file: Path

    def all(self) -> dict[str, Any]:
        """Every document; none if nothing is stored."""
        return dict(json.loads(lzma.decompress(self.file.read_bytes()))) if self.file.exists() else {}

    def get(self, name: str) -> Any:
        """The document of this name; `None` if it is missing."""
        return self.all().get(name)

    def put(self, name: str, document: Any) -> None:
        """Stores a document, replacing the one of this name."""
        self.write(self.all() | {name: document})

    def write(self, documents: dict[str, Any]) -> None:
        """Replaces all documents by these."""
        text = json.dumps(dict(sorted(documents.items())), separators=(",", ":"))
        self.file.write_bytes(lzma.compress(text.encode(), preset=9))
