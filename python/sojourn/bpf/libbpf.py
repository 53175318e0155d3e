"""The parts of libbpf that load and attach programs."""

from __future__ import annotations

import ctypes
import os
from ctypes import byref, c_char_p, c_int, c_size_t, c_uint, c_void_p
from functools import cache
from pathlib import Path
from typing import Any

from sojourn.core.errors import RunError

BPF_F_LINK = 1 << 13
BPF_STRUCT_OPS = 44
BPF_TCX_EGRESS = 47
LIBRARY = "libbpf.so.1"

Print = ctypes.CFUNCTYPE(c_int, c_int, c_char_p, c_void_p)

POINTERS = {
    "bpf_object__open_file": [c_char_p, c_void_p],
    "bpf_object__find_map_by_name": [c_void_p, c_char_p],
    "bpf_object__find_program_by_name": [c_void_p, c_char_p],
    "bpf_map__attach_struct_ops": [c_void_p],
    "bpf_map__initial_value": [c_void_p, c_void_p],
}
"""Functions that return a pointer, null on failure."""

NUMBERS = {
    "bpf_object__load": [c_void_p],
    "bpf_map__set_map_flags": [c_void_p, c_uint],
    "bpf_map__fd": [c_void_p],
    "bpf_program__fd": [c_void_p],
    "bpf_link_create": [c_int, c_int, c_int, c_void_p],
    "bpf_map_lookup_elem": [c_int, c_void_p, c_void_p],
    "bpf_map_update_elem": [c_int, c_void_p, c_void_p, ctypes.c_ulonglong],
    "libbpf_major_version": [],
    "libbpf_minor_version": [],
}
"""Functions that return a number, negative on failure."""


@cache
def library() -> Any:
    """The library, which prints nothing. Raises `RunError` if it is missing."""
    try:
        found = ctypes.CDLL(LIBRARY, use_errno=True)
    except OSError:
        raise RunError(f"attach: expected {LIBRARY}, such as Debian's package libbpf1, got none") from None
    for names, result in ((POINTERS, c_void_p), (NUMBERS, c_int)):
        for name, arguments in names.items():
            function = getattr(found, name)
            function.argtypes, function.restype = arguments, result
    found.libbpf_set_print.argtypes, found.libbpf_set_print.restype = [Print], c_void_p
    return found


class Program:
    """A BPF object file, opened, and after `load` in the kernel."""

    def __init__(self, file: Path, name: str) -> None:
        self.name = name
        self.log: list[str] = []
        self.collect = Print(self._collect)
        library().libbpf_set_print(self.collect)
        self.object = self.pointer("bpf_object__open_file", os.fsencode(file), None)

    def _collect(self, _level: int, form: bytes, values: int | None) -> int:
        """Keeps a message of libbpf instead of printing it."""
        text = ctypes.create_string_buffer(1 << 20)
        ctypes.CDLL(None).vsnprintf(text, c_size_t(len(text)), form, c_void_p(values))
        self.log += text.value.decode(errors="replace").splitlines()
        return 0

    def failure(self, what: str, number: int) -> RunError:
        """The error of a call that failed with this number.

        It has the objection of the kernel's verifier, if there is one.
        """
        reason = os.strerror(abs(number)) if abs(number) < 256 else f"error {abs(number)}"
        ends = [i for i, line in enumerate(self.log) if line.startswith("processed ") and i]
        objection = f": {self.log[ends[0] - 1]}" if ends else ""
        return RunError(f"attach: {self.name}: {what}: {reason}{objection}")

    def pointer(self, function: str, *arguments: Any) -> int:
        """Calls a function that returns a pointer."""
        found = getattr(library(), function)(*arguments)
        if not found:
            raise self.failure(function, ctypes.get_errno())
        return int(found)

    def number(self, function: str, *arguments: Any) -> int:
        """Calls a function that returns a number."""
        found = getattr(library(), function)(*arguments)
        if found < 0:
            raise self.failure(function, found)
        return int(found)

    def map(self, name: str) -> int:
        """The map of this name."""
        return self.pointer("bpf_object__find_map_by_name", self.object, name.encode())

    def set_constants(self, name: str, content: bytes) -> None:
        """Sets the first bytes of a section of constants, before `load`."""
        size = c_size_t()
        place = self.pointer("bpf_map__initial_value", self.map(name), byref(size))
        if len(content) > size.value:
            raise RunError(f"attach: {self.name}: expected at most {size.value} bytes in {name}, got {len(content)}")
        ctypes.memmove(place, content, len(content))

    def load(self) -> None:
        """Loads all programs and maps into the kernel."""
        self.number("bpf_object__load", self.object)

    def attach_egress(self, program: str, device: int) -> int:
        """Attaches a loaded program to the egress of a device, and returns the link.

        The kernel detaches it when the link is closed.
        """
        found = self.pointer("bpf_object__find_program_by_name", self.object, program.encode())
        return self.number("bpf_link_create", self.number("bpf_program__fd", found), device, BPF_TCX_EGRESS, None)

    def register(self, operations: str) -> int:
        """Registers the operations in a loaded map of this name, and returns the link.

        The map needs `BPF_F_LINK`. The kernel unregisters them when the link is closed. libbpf before 1.2 fills the
        map, but makes no link.
        """
        found = self.map(operations)
        self.pointer("bpf_map__attach_struct_ops", found)
        if (self.number("libbpf_major_version"), self.number("libbpf_minor_version")) >= (1, 2):
            return self.number("bpf_map__fd", found)
        return self.number("bpf_link_create", self.number("bpf_map__fd", found), 0, BPF_STRUCT_OPS, None)
