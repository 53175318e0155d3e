"""Reads a TOML file into a pydantic model, with errors in one line for the user."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from keyword import iskeyword
from pathlib import Path, PurePath
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PrivateAttr,
    Strict,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from sojourn.core import toml
from sojourn.core.errors import UserError
from sojourn.core.scenario_files import read_text

Model = TypeVar("Model", bound="FileModel")
Number = TypeVar("Number", float, float | str)

EXPECTED = {
    "string_type": "a text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
    "greater_than_equal": "a number of {ge:g} or more",
    "less_than_equal": "a number of {le:g} or less",
    "too_short": "at least {min_length} of them",
    "too_long": "at most {max_length} of them",
}
"""Pydantic's types of errors in the words of a TOML file.

Braces contain details of the error.
"""


class FileModel(BaseModel):
    """A table of a file. Types are checked strictly and unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, table: Any) -> Any:
        if isinstance(table, Mapping) and cls.model_config.get("extra") == "forbid":
            known = [field.alias or name for name, field in cls.model_fields.items()]
            for key in table:
                if key not in known:
                    raise expected(f"one of {', '.join(known)}", "an unknown key", field=str(key))
        return table


class NamedTable(FileModel):
    """A table that is identified by its key in the table above it."""

    label: str = ""
    """Its name in tables and figures (default: its key)."""
    _id: str = PrivateAttr("")

    @property
    def id(self) -> str:
        """The key of the table."""
        return self._id

    def named(self, key: str) -> None:
        """Sets the key of the table, and its label if it has none."""
        self._id = key
        if not self.label:
            object.__setattr__(self, "label", key)


def _name_all(tables: dict[str, NamedTable]) -> dict[str, NamedTable]:
    for key, table in tables.items():
        table.named(key)
    return tables


Keyed = AfterValidator(_name_all)
"""For a field of type `dict[str, NamedTable]`: every table learns its key."""


def _all_words(tables: dict[str, Any]) -> dict[str, Any]:
    for key in tables:
        if not is_word(key):
            raise expected(WORD, key, field=key)
    return tables


Words = AfterValidator(_all_words)
"""For a table whose keys are names in expressions, as in `rtt20.codel.wait`."""
WORD = "a name of letters, digits and _ for expressions, where a hyphen means minus"


def is_word(name: str) -> bool:
    """Whether an expression can contain a name."""
    return name.isidentifier() and not iskeyword(name)


NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_+.-]{0,98}[A-Za-z0-9_+-])?")
RESERVED = re.compile(r"(?i:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?")


def _plain_name(name: str) -> str:
    if not NAME.fullmatch(name) or RESERVED.fullmatch(name):
        raise expected("a plain name: up to 100 letters, digits, _, +, - and dots inside", name)
    return name


PlainName = Annotated[str, AfterValidator(_plain_name)]


def _folder_of_results(name: str) -> str:
    if name.casefold() in ("cache", "index.html"):
        raise expected("a name that nothing else in the folder of results has", name)
    return name


FolderName = Annotated[PlainName, AfterValidator(_folder_of_results)]
"""A plain name that is free in `results/`, beside the cache and the page of all reports."""
"""A valid file name on every system.

It has no separators, is not `..` and is no device of Windows.
"""


def _inside(name: str) -> str:
    path = PurePath(name)
    if not name or "\0" in name or path.is_absolute() or ".." in path.parts or "\\" in name or path.drive:
        raise expected("a file in the folder of the experiment, such as scenarios/base.toml", name)
    return name


FileName = Annotated[str, AfterValidator(_inside)]
"""The path of a file, relative to the folder of the experiment and inside it."""

Span = Annotated[tuple[float, float], Strict(False), AfterValidator(lambda span: _rising(span))]
"""Two numbers, the smaller first.

Not strict: TOML has lists, not tuples.
"""
Times = Annotated[tuple[float | str, float | str], Strict(False), AfterValidator(lambda span: _rising(span))]
"""Begin and end, the smaller first.

Each is a number or a text with braces, such as `{up + 0.1}`.
"""
Texts = Annotated[tuple[str, ...], Strict(False)]
"""Any number of texts."""
OneOrMore = Annotated[
    tuple[str, ...],
    Strict(False),
    BeforeValidator(lambda value: [value] if isinstance(value, str) else value),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]
"""A text, or a list of texts."""
Value = Annotated[
    str,
    BeforeValidator(lambda value: str(value) if type(value) in (int, float) else value),
    WithJsonSchema({"type": ["string", "number"]}),
]
"""A text that replaces braces, or a number."""
TwoTexts = Annotated[tuple[str, str], Strict(False)]
"""Two texts."""


def _rising(span: tuple[Number, Number]) -> tuple[Number, Number]:
    begin, end = span
    if not isinstance(begin, str) and not isinstance(end, str) and begin >= end:
        raise expected("two numbers, the smaller first", list(span))
    return span


def expected(what: str, got: Any, field: str = "") -> PydanticCustomError:
    """The error for a validator to raise: the allowed values of a field, and its value."""
    return PydanticCustomError("expected", "expected {what}, got {got}", {"what": what, "got": got, "field": field})


def read_toml(path: Path, model: type[Model]) -> Model:
    """A file of the folder, checked.

    Raises `UserError`, one line `FILE: FIELD: expected WHAT, got VALUE`, for the first field that is wrong.
    """
    return check_table(toml.parse(read_text(path), str(path)), model, str(path))


def check_table(table: Mapping[str, Any], model: type[Model], label: str) -> Model:
    """A table as a model; `label` begins the message of an error."""
    try:
        return model.model_validate_json(json.dumps(table, default=str))
    except ValidationError as error:
        raise UserError(f"{label}: {message(error.errors()[0], table)}") from None


def message(error: ErrorDetails, table: Any) -> str:
    """`FIELD: expected WHAT, got VALUE` for one of pydantic's errors."""
    context, kind = error.get("ctx", {}), error["type"]
    own = str(context.get("field", "")) if kind == "expected" else ""
    parts = [*_field(error["loc"], table), *([own] if own else [])]
    field = "".join(part if part.startswith("[") else f".{part}" for part in parts).removeprefix(".") or "the file"
    if kind == "expected":
        what, got = context["what"], context["got"]
        return f"{field}: expected {what}, got {got if own or isinstance(got, Mapping) else _shown(got)}"
    if kind == "missing":
        return f"{field}: expected a value, got none"
    known = EXPECTED.get(kind)
    what = known.format(**context) if known else error["msg"].removeprefix("Input should be ")
    return f"{field}: expected {what[:1].lower()}{what[1:]}, got {_shown(error['input'])}"


def _shown(value: Any) -> str:
    """A value as in the file, shortened to fit in a line."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except TypeError:
        text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _field(place: tuple[str | int, ...], table: Any) -> Iterator[str]:
    """The names of the path to a place.

    An element of a list is named by its id or title, else by its number from 1.
    """
    for i, key in enumerate(place):
        if isinstance(key, int):
            table = table[key] if isinstance(table, list) and key < len(table) else None
            name = table.get("id") if isinstance(table, dict) else None
            yield f"[{name or key + 1}]"
        elif isinstance(table, dict) and (key in table or i == len(place) - 1):
            table = table.get(key)
            yield key
        # else: the tag of a union, which is no part of the file
