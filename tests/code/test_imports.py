"""No circular imports, neither between Python files nor between the modules of a crate.

A folder of a crate counts as one module: its `mod.rs` holds what its files share, and they use that. In most crates
the files have no circular imports either.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.source_tree import ROOT, sources, text

pytestmark = pytest.mark.no_libraries

Graph = dict[str, set[str]]
Name = tuple[str, ...]  # a module of a crate: `a::b` is ('a', 'b'), the root is ()


def circles(graph: Graph) -> list[list[str]]:
    """The sets of nodes that reach one another.

    They are Tarjan's strongly connected components of more than one node.
    """
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            component = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(component) > 1:
                found.append(sorted(component))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def described(graph: Graph, circle: list[str]) -> str:
    return "\n".join(f"  {node} imports {', '.join(sorted(graph[node] & set(circle)))}" for node in circle)


# --- Python -------------------------------------------------------------------------------------------------------


def python_modules() -> dict[str, Path]:
    """The modules of the package by their dotted names."""
    named = {}
    for path in sources(".py"):
        if path.parts[0] == "python":
            parts = path.with_suffix("").parts[1:]
            named[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return named


def python_imports(name: str, path: Path, modules: dict[str, Path]) -> Iterator[str]:
    """The modules that a module imports: at loading, in a call, or for types alone."""
    tree = ast.parse(text(path))
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name in modules)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join([*package.split(".")[: len(package.split(".")) - node.level + 1]]) if node.level else ""
            whole = ".".join(part for part in (base, node.module or "") if part)
            for each in node.names:
                inner = f"{whole}.{each.name}"
                if inner in modules:
                    yield inner
                elif whole in modules and each.name != "_sojourn":  # the extension module
                    yield whole


def test_no_python_module_imports_in_a_circle() -> None:
    modules = python_modules()
    graph = {name: set(python_imports(name, path, modules)) - {name} for name, path in modules.items()}
    assert sum(map(len, graph.values())) > 100
    found = circles(graph)
    assert not found, "\n".join(f"circle:\n{described(graph, each)}" for each in found)


CALLED = {("sojourn.core.record", "sojourn.plots.records")}
"""Imports that go up when a property is called: `record.plot`."""


def rooms() -> list[str]:
    """The folders of the package, as ARCHITECTURE.md lists them; each may use those before it."""
    table = re.search(r"<!-- rooms: begin -->\n(.*)<!-- rooms: end -->", text(ROOT / "ARCHITECTURE.md"), re.DOTALL)
    assert table
    return re.findall(r"^\| `(\w+)` \|", table[1], re.MULTILINE)


def room_of(name: str) -> str:
    return f"{name}..".split(".")[1]


def test_every_python_module_is_in_a_room() -> None:
    found = {room_of(name) for name in python_modules() if room_of(name)} - {"_sojourn", "__main__"}
    assert found == {*rooms()}


def test_no_python_import_goes_up() -> None:
    modules, order = python_modules(), rooms()
    up = {
        (name, other)
        for name, path in modules.items()
        for other in python_imports(name, path, modules)
        if room_of(name) in order and room_of(other) in order
        if order.index(room_of(other)) > order.index(room_of(name))
    }
    assert up == CALLED, f"imports that go up: {sorted(up - CALLED)}"


# --- Rust ---------------------------------------------------------------------------------------------------------


@dataclass
class Module:
    """A file of a crate: the names that it defines and those that it exports from elsewhere."""

    path: Path
    code: str
    exports: dict[str, Name] = field(default_factory=dict)


TESTS = re.compile(
    r"^( *)#\[cfg\((?:all\()?test[^\n]*\n(?: *#\[[^\n]*\n)*\1(?:[^\n{]*;|[^\n]*\{\n(?:.*\n)*?\1\})", re.MULTILINE
)


def without_tests_and_comments(source: str) -> str:
    """Rust code without comments, strings and `#[cfg(test)]` items."""
    source = re.sub(r"//[^\n]*", "", source)
    source = re.sub(r'"(?:[^"\\]|\\.)*"', '""', source)
    return re.sub(
        r"^( *)#\[cfg\((?:all\()?test[^\n]*\n(?: *#\[[^\n]*\n)*\1(?:[^\n{]*;|[^\n]*\{\n(?:.*\n)*?\1\})",
        "",
        source,
        flags=re.M,
    )


def rust_modules(crate: Path) -> dict[Name, Module]:
    """The modules of a crate by their paths; the root is the empty path."""
    found = {}
    for path in sources(".rs"):
        if path.is_relative_to(crate / "src"):
            parts = path.relative_to(crate / "src").with_suffix("").parts
            if parts[-1] in ("mod", "lib"):
                parts = parts[:-1]
            if "tests" not in parts:
                found[parts] = Module(path, without_tests_and_comments(text(path)))
    return found


def paths_in(tree: str) -> Iterator[Name]:
    """The paths of a `use` tree: `a::{b, c::d as e}` gives `a::b` and `a::c::d`."""
    head, brace, rest = tree.partition("{")
    start = tuple(part.strip() for part in head.split("::") if part.strip())
    if not brace:
        yield (*start[:-1], start[-1].split(" as ")[0].strip()) if start else ()
        return
    depth, item, items = 0, "", []
    for letter in rest.rpartition("}")[0]:
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            items.append(item)
            item = ""
        else:
            item += letter
    for each in [*items, item]:
        if each.strip():
            for inner in paths_in(each):
                yield (*start, *inner)


USE = re.compile(r"^ *(pub(?:\([^)]*\))? )?use ([^;]+);", re.M)
INLINE = re.compile(r"\b((?:crate|super)(?:::\w+)+)")


def absolute(here: Name, path: Name, modules: dict[Name, Module]) -> Name | None:
    """A path from the root of the crate; None for another crate's."""
    if path[0] == "crate":
        return path[1:]
    at = here
    while path and path[0] in ("super", "self"):
        at = at[:-1] if path[0] == "super" else at
        path = path[1:]
        if not path or path[0] not in ("super", "self"):
            return (*at, *path)
    return (*here, *path) if (*here, path[0]) in modules else None


def target(path: Name, modules: dict[Name, Module], depth: int = 0) -> Name:
    """The module that defines the target of a path, through exports of other modules."""
    module: Name = ()
    for length in range(len(path), -1, -1):
        if path[:length] in modules:
            module = path[:length]
            break
    rest = path[len(module) :]
    if rest and depth < 8:
        exports = modules[module].exports
        if rest[0] in exports:
            return target((*exports[rest[0]], *rest[1:]), modules, depth + 1)
    return module


def read_exports(modules: dict[Name, Module]) -> None:
    for here, module in modules.items():
        for found in USE.finditer(module.code):
            for path in paths_in(found[2]) if found[1] else ():
                whole = absolute(here, path, modules)
                if whole and path[-1] != "*":
                    module.exports[whole[-1]] = whole


def rust_graph(modules: dict[Name, Module], depth: int | None = 1) -> Graph:
    """The modules from which each module uses names.

    A folder counts as one module at this depth; without a depth each file counts on its own.
    """
    read_exports(modules)
    graph: Graph = defaultdict(set)
    for here, module in modules.items():
        uses = [path for found in USE.finditer(module.code) if not found[1] for path in paths_in(found[2])]
        uses += [tuple(found[1].split("::")) for found in INLINE.finditer(USE.sub("", module.code))]
        for path in uses:
            whole = absolute(here, tuple(part for part in path if part != "*"), modules) if path else None
            if whole is not None:
                used = target(whole, modules)
                if used[:depth] != here[:depth]:
                    graph["::".join(here[:depth]) or "lib"].add("::".join(used[:depth]) or "lib")
    return graph


CRATES = sorted(path.parent for path in sources(".toml") if path.name == "Cargo.toml" and path.parts[0] == "crates")


@pytest.mark.parametrize("crate", CRATES, ids=str)
def test_no_module_of_a_crate_imports_in_a_circle(crate: Path) -> None:
    modules = rust_modules(crate)
    graph = rust_graph(modules)
    found = circles(graph)
    assert not found, "\n".join(f"circle:\n{described(graph, each)}" for each in found)


# Crates that have files which import each other in a circle, inside of a folder.
FILES_IN_CIRCLES = {"linux", "spec"}


@pytest.mark.parametrize("crate", [crate for crate in CRATES if crate.name not in FILES_IN_CIRCLES], ids=str)
def test_no_file_of_a_crate_imports_in_a_circle(crate: Path) -> None:
    graph = rust_graph(rust_modules(crate), depth=None)
    found = circles(graph)
    assert not found, "\n".join(f"circle:\n{described(graph, each)}" for each in found)


def test_the_reader_of_rust_follows_exports() -> None:
    modules = {
        (): Module(ROOT, "pub use inner::Law;\nmod inner;\nmod outer;"),
        ("inner",): Module(ROOT / "inner.rs", "pub struct Law;"),
        ("outer",): Module(ROOT / "outer.rs", "use crate::{Law, inner::{self, Law as Other}};"),
    }
    assert rust_graph(modules) == {"outer": {"inner"}}
