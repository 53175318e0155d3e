"""Reading tables with the kind of each field checked and unknown keys refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sojourn.errors import UserError

_REQUIRED: Any = object()


class Fields:
    """A table of a file. `done` refuses the keys that nobody asked for."""

    def __init__(self, table: Mapping[str, Any], label: str) -> None:
        self._table = table
        self._asked: set[str] = set()
        self.label = label

    def error(self, key: str, given: Any, taken: str) -> UserError:
        """The error that a field deserves."""
        return UserError(f"{self.label}: {key}: given {given!r}, taken is {taken}")

    def _get(self, key: str, default: Any, kinds: tuple[type, ...], taken: str) -> Any:
        self._asked.add(key)
        if key not in self._table:
            if default is _REQUIRED:
                raise UserError(f"{self.label}: {key}: missing, taken is {taken}")
            return default
        value = self._table[key]
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise self.error(key, value, taken)
        return value

    def has(self, key: str) -> bool:
        """Whether the field is there."""
        return key in self._table

    def text(self, key: str, default: str = _REQUIRED) -> str:
        """A text."""
        return str(self._get(key, default, (str,), "a text"))

    def number(self, key: str, default: float = _REQUIRED) -> float:
        """A number."""
        return float(self._get(key, default, (int, float), "a number"))

    def integer(self, key: str, default: int = _REQUIRED) -> int:
        """A whole number."""
        return int(self._get(key, default, (int,), "a whole number"))

    def texts(self, key: str, default: list[str] = _REQUIRED) -> list[str]:
        """A list of texts."""
        value = self._get(key, default, (list,), "a list of texts")
        if not all(isinstance(item, str) for item in value):
            raise self.error(key, value, "a list of texts")
        return list(value)

    def numbers(self, key: str, default: list[float] = _REQUIRED) -> list[float]:
        """A list of numbers."""
        value = self._get(key, default, (list,), "a list of numbers")
        if not all(isinstance(item, (int, float)) and not isinstance(item, bool) for item in value):
            raise self.error(key, value, "a list of numbers")
        return [float(item) for item in value]

    def table(self, key: str) -> dict[str, Any]:
        """A table as it is, empty where absent."""
        return dict(self._get(key, {}, (dict,), "a table"))

    def tables(self, key: str) -> dict[str, Fields]:
        """A table of tables."""
        found = self.table(key)
        for name, item in found.items():
            if not isinstance(item, dict):
                raise self.error(f"{key}.{name}", item, "a table")
        return {name: Fields(item, f"{self.label}: {key}.{name}") for name, item in found.items()}

    def raw_list(self, key: str) -> list[dict[str, Any]]:
        """A list of tables as they are, empty where absent."""
        value = self._get(key, [], (list,), "a list of tables")
        if not all(isinstance(item, dict) for item in value):
            raise self.error(key, value, "a list of tables")
        return list(value)

    def list(self, key: str) -> list[Fields]:
        """A list of tables, each called by its id in messages."""
        items = self.raw_list(key)
        return [Fields(item, f"{self.label}: {key} {item.get('id', i)}") for i, item in enumerate(items)]

    def done(self) -> None:
        """Refuses what nobody asked for."""
        unknown = sorted(set(self._table) - self._asked)
        if unknown:
            raise UserError(f'{self.label}: unknown key "{unknown[0]}"; taken are {", ".join(sorted(self._asked))}')
