"""Digests of queue laws and congestion controllers in Python, for the keys of their runs.

A digest covers the code of a class or function, and whatever that code refers to: base classes, other functions,
constants, enclosed variables and default arguments, and modules of the same project. Installed packages count with
their version. Comments do not count. Files that a law reads, the clock and unseeded random numbers are unknown to it.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import CellType, CodeType, FunctionType, GetSetDescriptorType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

import numpy as np

PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis))
# Attributes of classes that do not change what they do, or that follow from others.
IGNORED = {
    "__dict__",
    "__weakref__",
    "__doc__",
    "__module__",
    "__annotations__",
    "__annotate__",
    "__annotate_func__",
    "__annotations_cache__",
    "__firstlineno__",
    "__static_attributes__",
    "__dataclass_fields__",
    "__abstractmethods__",
    "_abc_impl",
}
INSTALLED = [Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib")]


class UnknownCodeError(Exception):
    """A law refers to an object without a digest. The message names it."""


def law_digest(factory: Callable[..., Any]) -> str:
    """The digest of a law's factory.

    Raises `UnknownCodeError` if it refers to an object whose state is unknown.
    """
    found = _Digest()
    found.add(list(sys.version_info[:2]))
    try:
        found.add(factory)
    except RecursionError:
        raise UnknownCodeError("objects nested too deeply") from None
    return found.hash.hexdigest()


def is_installed(module: ModuleType | None) -> bool:
    """Whether a module belongs to Python or to a package, not to the user's project."""
    if module is None:
        return False
    top = module.__name__.partition(".")[0]
    if top in ("sojourn", "builtins") or top in sys.stdlib_module_names:
        return True
    file = getattr(module, "__file__", None)
    return file is not None and any(Path(file).resolve().is_relative_to(folder) for folder in INSTALLED)


class _Digest:
    """A SHA-256 over objects and what they refer to. Each object is followed once."""

    def __init__(self) -> None:
        self.hash = hashlib.sha256()
        self._seen: dict[int, int] = {}
        self._kept: list[Any] = []  # an object that is alive keeps its id

    def _text(self, *parts: object) -> None:
        for part in parts:
            text = str(part).encode("utf-8", "surrogatepass")
            self.hash.update(b"%d:" % len(text) + text)

    def add(self, value: Any) -> None:
        """Adds an object. Raises `UnknownCodeError` for one whose state is unknown."""
        if isinstance(value, PLAIN):
            self._text(type(value).__name__, repr(value))
            return
        if id(value) in self._seen:
            self._text("again", self._seen[id(value)])
            return
        self._seen[id(value)] = len(self._seen)
        self._kept.append(value)
        self._text(type(value).__name__)
        if not self._container(value) and not self._code(value):
            self._instance(value)

    def _each(self, values: Iterable[Any]) -> None:
        for value in values:
            self.add(value)

    def _named(self, table: Mapping[str, Any]) -> None:
        for name in sorted(table):
            self._text(name)
            self.add(table[name])

    def _container(self, value: Any) -> bool:
        """Adds a list, table, set or array; whether it is one."""
        if isinstance(value, (list, tuple)):
            self._text(len(value))
            self._each(value)
        elif isinstance(value, (set, frozenset)):
            self._each(sorted(value, key=repr))
        elif isinstance(value, Mapping):
            self._each(part for entry in value.items() for part in entry)
        elif isinstance(value, (np.ndarray, np.generic)) and not value.dtype.hasobject:
            self._text(value.dtype.str, value.shape)
            self.hash.update(value.tobytes())
        else:
            return False
        return True

    def _code(self, value: Any) -> bool:
        """Adds a class, a function or a module; whether it is one."""
        match value:
            case ModuleType():
                self._module(value)
            case type():
                self._class(value)
            case FunctionType():
                if not self._installed(value):
                    self._function(value)
            case CodeType():
                self._bytecode(value)
            case MethodType():
                self._each((value.__func__, value.__self__))
            case functools.partial():
                self._each((value.func, value.args, value.keywords))
            case staticmethod() | classmethod():
                self.add(value.__func__)
            case property():
                self._each((value.fget, value.fset, value.fdel))
            case functools.cached_property():
                self.add(value.func)
            case MemberDescriptorType() | GetSetDescriptorType():
                self._text(value.__name__)
            case _ if hasattr(value, "__wrapped__"):
                self.add(value.__wrapped__)
            case _ if callable(value) and hasattr(value, "__qualname__"):  # in C
                return self._installed(value)
            case _:
                return False
        return True

    def _installed(self, value: Any) -> bool:
        """Adds name and version of what a package defines. Returns False for other code."""
        name = getattr(value, "__module__", None) or type(value).__module__
        module = sys.modules.get(str(name))
        if not is_installed(module):
            return False
        top = sys.modules.get(str(name).partition(".")[0])
        self._text(name, getattr(value, "__qualname__", ""), getattr(top, "__version__", ""))
        return True

    def _class(self, value: type) -> None:
        if self._installed(value):
            return
        self._text(value.__qualname__)
        self._each(value.__bases__)
        self._named({name: each for name, each in vars(value).items() if name not in IGNORED})

    def _function(self, value: FunctionType) -> None:
        self._each((value.__defaults__, value.__kwdefaults__, value.__code__))
        self._each(map(_content, value.__closure__ or ()))
        used = {name for code in _codes(value.__code__) for name in _globals_of(code)}
        self._named({name: value.__globals__[name] for name in used if name in value.__globals__})

    def _bytecode(self, code: CodeType) -> None:
        self._text(code.co_code.hex(), code.co_argcount, code.co_kwonlyargcount, code.co_flags)
        self._each((code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_consts))

    def _module(self, module: ModuleType) -> None:
        if is_installed(module):
            self._text(module.__name__, getattr(module, "__version__", ""))
            return
        file = getattr(module, "__file__", None)
        if file is None:
            raise UnknownCodeError(f"the module {module.__name__}, which has no file")
        self.hash.update(Path(file).read_bytes())
        inside = [each for name, each in sorted(vars(module).items()) if not name.startswith("__")]
        self._each(each for each in inside if isinstance(each, (ModuleType, type, FunctionType, *PLAIN)))

    def _instance(self, value: Any) -> None:
        """Adds class, arguments, state and elements of an object, as `pickle` stores it."""
        kind = type(value)
        try:
            reduced = value.__reduce_ex__(4)
        except Exception:
            raise UnknownCodeError(f"an object of {kind.__module__}.{kind.__qualname__}") from None
        parts = reduced if isinstance(reduced, tuple) else (reduced,)
        self.add(kind)
        self._each(list(part) if isinstance(part, Iterator) else part for part in parts)


def _content(cell: CellType) -> Any:
    """The value of an enclosed variable; None if it has none yet."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _codes(code: CodeType) -> Iterable[CodeType]:
    """A function's code and that of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _globals_of(code: CodeType) -> set[str]:
    """The global names that code reads."""
    return {str(each.argval) for each in dis.get_instructions(code) if each.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
