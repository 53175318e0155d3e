"""Mutants of Rust sources, as `cargo mutants --list` names them, all in one build.

A build for each mutant would take too long. So the sources are changed once: every mutant is written next to the
original, behind `sojourn_units::planted(ID)`, which is true if the environment variable `MUTANT` is that number. A
test program is then built once and run for each mutant. Mutants that don't compile are found from the compiler's
messages.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tree_sitter
import tree_sitter_rust

from conformance.mutants.mutant import Mutant

PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_rust.language()))
SWITCH = """
/// Whether the mutant is chosen by `MUTANT`. Without a choice, `COVER` names the file of the mutants that were reached.
#[doc(hidden)]
#[inline]
pub fn planted(id: u32) -> bool {
    use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
    static CHOSEN: AtomicU32 = AtomicU32::new(u32::MAX);
    static REACHED: [AtomicBool; 65536] = [const { AtomicBool::new(false) }; 65536];
    let mut chosen = CHOSEN.load(Relaxed);
    if chosen == u32::MAX {
        chosen = std::env::var("MUTANT").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
        CHOSEN.store(chosen, Relaxed);
    }
    if chosen == 0 && !REACHED[id as usize].load(Relaxed) && !REACHED[id as usize].swap(true, Relaxed) {
        if let Ok(path) = std::env::var("COVER") {
            let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).expect("a file");
            std::io::Write::write_all(&mut file, std::format!("{id}\\n").as_bytes()).expect("room for it");
        }
    }
    chosen == id
}
"""
REGISTERED = ("algorithms", "kinds", "profiles")
"""Folders whose modules a macro declares, so that cargo-mutants doesn't find them by itself."""


@dataclass(frozen=True)
class Planted:
    """A mutant with the text that is written into the source for it."""

    mutant: Mutant
    kind: str
    """The kind of change: `expression`, `body`, `arm` or `guard`.

    An expression is replaced, a function returns at once, a match loses an arm or a guard.
    """
    match: tuple[int, int] = (0, 0)
    """The bytes of the match that loses an arm, after which some values may have no arm."""


@dataclass
class Source:
    """A file with mutants: its changed text, and the ranges in which each may cause an error."""

    text: bytes
    regions: list[tuple[int, int, tuple[int, ...]]]


def listed(tree: Path, crate: str) -> list[dict[str, Any]]:
    """The mutants of a crate in a copy of the repository, as cargo-mutants describes them."""
    for folder in (path for path in (tree / "crates" / crate / "src").rglob("*") if path.name in REGISTERED):
        modules = sorted(path.stem for path in folder.glob("*.rs") if path.stem != "mod")
        lines = "".join(f"#[cfg(any())]\nmod {name};\n" for name in modules)  # seen by cargo-mutants, not by rustc
        owner = folder / "mod.rs"
        text = owner.read_text()
        owner.write_text(text + lines)
    command = ["cargo", "mutants", "--list", "--json", "--package", f"sojourn-{crate}"]
    found = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=True).stdout
    return list({json.dumps(each, sort_keys=True): each for each in json.loads(found)}.values())


def nodes(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """Yields a node and all below it."""
    yield node
    for child in node.children:
        yield from nodes(child)


class Places:
    """The nodes of a source by their first byte."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.starts = [0, *(match.end() for match in re.finditer(rb"\n", source))]
        self.at: dict[int, list[tree_sitter.Node]] = defaultdict(list)
        for node in nodes(PARSER.parse(source).root_node):
            self.at[node.start_byte].append(node)

    def offset(self, place: dict[str, int]) -> int:
        """The byte at a line and a column, which counts characters from 1."""
        start = self.starts[place["line"] - 1]
        return start + len(self.source[start:].decode()[: place["column"] - 1].encode())

    def find(self, begin: int, kinds: tuple[str, ...]) -> tree_sitter.Node | None:
        """The outermost node of a kind that begins at a byte."""
        return next((node for node in self.at[begin] if node.type in kinds), None)

    def around(self, begin: int, kind: str) -> tree_sitter.Node | None:
        """The innermost node of a kind around a byte."""
        node = max((n for n in self.at[begin]), key=lambda n: n.start_byte - n.end_byte, default=None)
        while node is not None and node.type != kind:
            node = node.parent
        return node


def place(described: dict[str, Any], places: Places) -> Planted | None:
    """The range and the change of a mutant in its source; None if it can't be switched."""
    begin, end = places.offset(described["span"]["start"]), places.offset(described["span"]["end"])
    new, genre, source = described["replacement"], described["genre"], places.source
    node: tree_sitter.Node | None = None
    kind, match = "expression", (0, 0)
    if genre in ("BinaryOperator", "UnaryOperator"):
        node = next((n.parent for n in places.at[begin] if n.parent and n.type == source[begin:end].decode()), None)
        if node is None or in_constant(node):
            return None
        new = (source[node.start_byte : begin] + new.encode() + source[end : node.end_byte]).decode()
    elif genre == "FnValue":
        node = places.around(begin, "function_item")
        if node is None or in_constant(node):
            return None
        kind, node = "body", node.child_by_field_name("body")
        if node is not None and result_of(node) == new:
            return None
    elif genre == "MatchArm":
        arm = places.find(begin, ("match_arm",))
        kind, node = "arm", arm.child_by_field_name("pattern") if arm else None
        if arm is not None and arm.parent is not None and arm.parent.parent is not None:
            match = arm.parent.parent.start_byte, arm.parent.parent.end_byte
        if node is not None and (guard := node.child_by_field_name("condition")) is not None:
            kind, node, new = "guard", guard, "false"
    elif genre == "MatchArmGuard":
        pattern = places.around(begin, "match_pattern")
        kind, node = "guard", pattern.child_by_field_name("condition") if pattern else None
    elif genre == "StructField":
        node, new = default_of(places.find(begin, ("field_initializer",)))
    if node is None or node.type in ("let_condition", "let_chain"):
        return None
    function = described["function"]["function_name"] if described["function"] else ""
    old = "" if kind == "body" else source[node.start_byte : node.end_byte].decode()
    line = described["span"]["start"]["line"]
    return Planted(Mutant(described["file"], line, function, old, new, node.start_byte, node.end_byte), kind, match)


def result_of(body: tree_sitter.Node) -> str:
    """The text of a body that only returns a value.

    Statements that ignore its arguments are left out.
    """
    returned = [
        n for n in body.named_children if not (n.type == "let_declaration" and (n.text or b"").startswith(b"let _ ="))
    ]
    return b"; ".join(n.text or b"" for n in returned).decode() or "()"


def in_constant(node: tree_sitter.Node | None) -> bool:
    """Whether the compiler evaluates a node, so that a mutant in it can't be switched."""
    while node is not None:
        if node.type in ("const_item", "static_item", "const_block", "enum_variant", "array_type"):
            return True
        if node.type == "function_item" and any(
            child.type == "function_modifiers" and b"const" in (child.text or b"") for child in node.children
        ):
            return True
        node = node.parent
    return False


def default_of(field: tree_sitter.Node | None) -> tuple[tree_sitter.Node | None, str]:
    """The value of a field of a struct, and its value if the struct's base decides."""
    if field is None or field.parent is None or field.parent.parent is None:
        return None, ""
    base = next((n for n in field.parent.children if n.type == "base_field_initializer"), None)
    name, owner = field.child_by_field_name("field"), field.parent.parent.child_by_field_name("name")
    if base is None or name is None or owner is None:
        return None, ""
    text = (
        (base.text or b"")
        .decode()[2:]
        .strip()
        .replace("Default::default()", f"{(owner.text or b'').decode()}::default()")
    )
    return field.child_by_field_name("value"), f"({text}).{(name.text or b'').decode()}"


def planted(source: bytes, mutants: dict[int, Planted], switch: str) -> Source:
    """Writes all these mutants into a source, and returns it.

    `switch` is the path of the function that switches a mutant on.
    """
    spots: dict[tuple[int, int, str], list[int]] = defaultdict(list)
    for number, each in mutants.items():
        kind = "expression" if each.kind == "guard" else each.kind
        spots[each.mutant.begin, each.mutant.end, kind].append(number)
    parts: list[tuple[int, int, int, list[tuple[str, tuple[int, ...]]]]] = []
    matches: dict[tuple[int, int], list[int]] = defaultdict(list)
    for (begin, end, kind), numbers in spots.items():
        if kind == "body":
            text = [(f" if {switch}({n}) {{ return {mutants[n].mutant.new}; }} ", (n,)) for n in numbers]
            parts.append((begin + 1, 2, 0, text))
        elif kind == "arm":
            off = " && ".join(f"!{switch}({n})" for n in numbers)
            parts.append((end, 0, -begin, [(f" if {off}", tuple(numbers))]))
            matches[mutants[numbers[0]].match] += numbers
        else:
            text = [(f"if {switch}({n}) {{ {mutants[n].mutant.new} }} else ", (n,)) for n in numbers]
            parts.append((begin, 1, -end, [("(", ()), *text, ("{ ", ())]))
            parts.append((end, 0, -begin, [(" })", tuple(numbers))]))
    for (begin, end), numbers in matches.items():
        parts.append((begin, 1, -end, []))
        parts.append((end, 0, -begin, [("", tuple(numbers))]))
    written, size, last, regions, opened = [], 0, 0, [], {}
    for at, order, span, texts in sorted(parts, key=lambda part: part[:3]):
        written.append(source[last:at])
        size, last = size + at - last, at
        if order == 1:
            opened[at, -span] = size
        for text, numbers in texts:
            encoded = text.encode()
            start = opened.get((-span, at), size) if order == 0 else size
            if numbers:
                regions.append((start, size + len(encoded), tuple(numbers)))
            written.append(encoded)
            size += len(encoded)
    written.append(source[last:])
    return Source(b"".join(written), sorted(regions))


def blamed(source: Source, begin: int, end: int) -> tuple[int, ...]:
    """The mutants in the smallest region around an error.

    Without one, those in the regions within it, or else in the nearest region.
    """
    around = [region for region in source.regions if region[0] <= begin + 1 and region[1] >= end]
    if around:
        return min(around, key=lambda region: region[1] - region[0])[2]
    inside = [region[2] for region in source.regions if region[0] >= begin and region[1] <= end]
    if inside:
        return tuple({number for numbers in inside for number in numbers})
    return min(source.regions, key=lambda region: abs(region[0] - begin), default=(0, 0, ()))[2]
