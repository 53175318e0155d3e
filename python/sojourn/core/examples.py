"""The shipped examples by name: those of the checkout, or those in the installed package."""

from __future__ import annotations

import os
from pathlib import Path

from sojourn.core.errors import UserError, note

PACKAGE = Path(__file__).resolve().parents[1]
FOLDERS = (PACKAGE.parents[1] / "examples", PACKAGE / "examples")
"""The folder of a checkout, and the one that `scripts/wheel.py` adds to a wheel."""
ENDINGS = (".toml", ".py")


def folder() -> Path:
    """The folder of the examples."""
    return next((each for each in FOLDERS if (each / "dumbbell.toml").is_file()), FOLDERS[-1])


def names() -> list[str]:
    """The examples that commands take: scenarios, sweeps, and classes in Python."""
    return sorted(file.name for file in folder().glob("*") if file.suffix in ENDINGS)


def may_be(path: Path) -> bool:
    """Whether a path has the form of an example's name, which has no folder but `examples/`."""
    return path.parts[:-1] in ((), ("examples",))


def find(name: str | Path) -> Path | None:
    """The example with a name such as `dumbbell`, `dumbbell.toml` or `examples/dumbbell.toml`."""
    path = Path(name)
    if not may_be(path):
        return None
    known = names()
    found = next((each for ending in ("", *ENDINGS) if (each := f"{path.name}{ending}") in known), None)
    return None if found is None else folder() / found


def located(path: Path) -> Path:
    """The path, or the shipped example of that name if there is no such file.

    A `Note` says so, unless the name has neither folder nor ending.
    """
    found = None if os.path.lexists(path) else find(path)
    if found is None:
        return path
    if str(path) != found.stem:
        note(f"{path}: not in this folder, so the shipped example is used; `sojourn examples {found.name}` copies it")
    return found


def copied(name: str) -> dict[Path, bytes]:
    """An example and the files that it names, by their paths below the folder of examples.

    Raises `UserError` for an unknown name.
    """
    first = find(name)
    if first is None:
        raise UserError.unknown("examples", name, names())
    every = {file.relative_to(folder()): file for file in folder().rglob("*") if file.is_file()}
    wanted, found = [first.relative_to(folder())], dict[Path, bytes]()
    while wanted:
        path = wanted.pop()
        found[path] = every[path].read_bytes()
        text = found[path].decode("utf-8")
        wanted += [other for other in every if other not in found and f'{other.as_posix()}"' in text]
    return found


def summary(name: str) -> str:
    """The first sentence of an example, from its comment or docstring."""
    first = (folder() / name).read_text(encoding="utf-8").partition("\n")[0].strip('#" ')
    return first.partition(": `")[0].removesuffix(".")
