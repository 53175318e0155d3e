"""The files of the repository, as the tests of style read them."""

import ast
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = {".rs", ".py", ".md", ".toml", ".sh", ".css", ".html", ".yml", ".yaml", ".csv", ".j2", ".tcl", ""}
# Not written by us: licenses, lock files, stored output of the reference simulators, published tables.
FOREIGN = re.compile(r"^(LICENSE|Cargo\.lock|fuzz/Cargo\.lock|.*\.lock$|conformance/.*/stored/|papers/[^/]+/expected/)")


@cache
def files() -> tuple[Path, ...]:
    """Every text file of the repository that is not foreign, relative to its root, in order."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    ours = (Path(name) for name in sorted(set(listed)) if not FOREIGN.match(name))
    return tuple(path for path in ours if path.suffix in TEXT and (ROOT / path).is_file())


def sources(suffix: str) -> tuple[Path, ...]:
    """The files with this suffix."""
    return tuple(path for path in files() if path.suffix == suffix)


@cache
def text(path: Path) -> str:
    """The content of a file."""
    return (ROOT / path).read_text(encoding="utf-8")


@dataclass(frozen=True)
class Function:
    """A function as the test of style sees it."""

    path: Path
    name: str
    line: int
    length: int
    parameters: int
    exempt: bool  # its parameters are a command's options, another language's interface or a property test's inputs


RUST_FUNCTION = re.compile(
    r"^(?P<indent> *)(?:pub(?:\([^)]*\))? )?(?:default )?(?:const )?(?:async )?"
    r"(?:unsafe )?(?:extern \"[^\"]*\" )?fn (?P<name>\w+)",
    re.M,
)


def rust_functions(path: Path) -> Iterator[Function]:
    """The functions of a Rust file formatted by rustfmt.

    A body ends with a brace at the indentation of `fn`.
    """
    lines = text(path).splitlines()
    for found in RUST_FUNCTION.finditer(text(path)):
        first = text(path).count("\n", 0, found.start())
        signature, depth, parameters = parameter_list(text(path), found.end())
        body = text(path).find("{", signature)
        declared = text(path).find(";", signature)
        if body < 0 or (0 <= declared < body and depth == 0):
            last = text(path).count("\n", 0, declared)
        else:
            closing = found["indent"] + "}"
            opened = text(path).count("\n", 0, body)
            one_line = lines[opened].rstrip().endswith("}") and lines[opened].count("{") == lines[opened].count("}")
            last = (
                opened if one_line else next(i for i in range(opened + 1, len(lines)) if lines[i].startswith(closing))
            )
        attributes = "".join(lines[max(0, first - 3) : first])
        foreign = "#[pyfunction]" in attributes or "#[pyo3(" in attributes or 'extern "' in found.group()
        foreign |= path.as_posix().startswith("stacks/") and found["indent"] != ""  # a stack's trait
        inputs = re.search(r"\bin ", text(path)[found.end() : signature]) is not None  # proptest: `x in 0..10`
        yield Function(path, found["name"], first + 1, last - first + 1, parameters, foreign or inputs)


def parameter_list(source: str, start: int) -> tuple[int, int, int]:
    """The end of a parameter list, the depth left (0), and the number of parameters.

    `self` is not counted.
    """
    position = start
    if source[position] == "<":
        depth = 0
        while True:
            depth += {"<": 1, ">": -1}.get(source[position], 0) if source[position - 1] != "-" else 0
            position += 1
            if depth == 0:
                break
    assert source[position] == "(", source[start : start + 80]
    depth, parts, part = 0, [], ""
    while True:
        letter = source[position]
        depth += letter in "([{<"
        depth -= letter in ")]}" or (letter == ">" and source[position - 1] not in "-=")
        if depth == 0:
            break
        if letter == "," and depth == 1:
            parts.append(part)
            part = ""
        elif not (letter == "(" and depth == 1):
            part += letter
        position += 1
    names = [each.strip() for each in [*parts, part] if each.strip()]
    own = [name for name in names if not re.fullmatch(r"(&(?:'\w+ )?)?(mut )?self(: .*)?", name)]
    return position, depth, len(own)


def python_functions(path: Path) -> Iterator[Function]:
    """The functions of a Python file.

    A docstring does not count as length, and a keyword-only option with a default does not count as a parameter.
    The options of a command of the `sojourn` program are its command line: they do not count either.
    """
    commands = path.as_posix().startswith("python/sojourn/cli/")
    for node in ast.walk(ast.parse(text(path))):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        required = [
            each for each, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if default is None
        ]
        arguments = [*node.args.posonlyargs, *node.args.args, *required]
        own = [each for each in arguments if each.arg not in ("self", "cls")]
        documented = ast.get_docstring(node, clean=False)
        inside = node.body[0].end_lineno - node.body[0].lineno + 1 if documented is not None else 0  # type: ignore[operator]
        yield Function(
            path,
            node.name,
            node.lineno,
            (node.end_lineno or node.lineno) - node.lineno + 1 - inside,
            len(own),
            commands and not node.name.startswith("_"),
        )
