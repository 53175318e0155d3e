"""Loads files with queue laws and controllers in Python, and sends laws to worker processes."""

from __future__ import annotations

import pickle
import sys
from types import ModuleType
from typing import Any

from sojourn.runs.laws import Laws, checked_laws

_loaded: dict[str, tuple[str, str]] = {}
"""The folder and the text of each module that `load_module` loaded, by its name."""


def load_module(name: str, folder: str, text: str) -> ModuleType:
    """Loads the text of a file as a module, with its folder on the import path.

    `name` is the file as the user wrote it. Exceptions of the code are passed on.
    """
    module = ModuleType(name)
    module.__file__ = name
    if folder not in sys.path:
        sys.path.insert(0, folder)
    sys.modules[name] = module  # `dataclass` looks up its module here
    exec(compile(text, name, "exec"), module.__dict__)
    _loaded[name] = folder, text
    return module


def pack_laws(laws: Laws) -> bytes:
    """The laws for a worker process, which imports or loads their modules.

    Empty for laws that exist only in this process: those of a notebook or of the running program, and functions within
    functions.
    """
    try:
        packed = pickle.dumps(dict(laws))
    except Exception:  # pickle raises many types
        return b""
    return b"" if b"__main__" in packed else pickle.dumps((sys.path, _loaded, packed))


def unpack_laws(data: bytes) -> dict[str, Any]:
    """The factories in `pack_laws`'s bytes. Exceptions of their modules are passed on."""
    path, modules, packed = pickle.loads(data)
    sys.path[:] = path
    for name, (folder, text) in modules.items():
        load_module(name, folder, text)
    return checked_laws(pickle.loads(packed))
