"""Mutants of Python modules, each with one change.

The change is in an operator, constant, condition, call or return value. A mutant is run in a copy of `python/`,
against the tests that `mutants.toml` names for its module. Links reach the rest of the repository, so tests find
papers, documents and examples where they expect them.
"""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from conformance.mutants.mutant import Mutant
from sojourn.core.errors import UserError

PAIRS: list[tuple[type[ast.AST], type[ast.AST]]] = [
    (ast.Add, ast.Sub),
    (ast.Mult, ast.Div),
    (ast.BitOr, ast.BitAnd),
    (ast.Eq, ast.NotEq),
    (ast.Is, ast.IsNot),
    (ast.In, ast.NotIn),
    (ast.And, ast.Or),
]
SWAPPED: dict[type[ast.AST], list[type[ast.AST]]] = {
    **{one: [other] for pair in PAIRS for one, other in (pair, pair[::-1])},
    **{each: [ast.Mult] for each in (ast.FloorDiv, ast.Mod, ast.Pow)},
    ast.Lt: [ast.LtE, ast.Gt],
    ast.LtE: [ast.Lt, ast.Gt],
    ast.Gt: [ast.GtE, ast.Lt],
    ast.GtE: [ast.Gt, ast.Lt],
}
"""The replacements of each operator."""
LEAST_S, SLOWEST = 20.0, 6.0
"""The time limit of the tests of a mutant: seconds, and a multiple of their usual time."""
RUNNER = Path(__file__).with_name("python_tests.py")
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # a fork has one


def changed(node: ast.AST) -> Iterator[str]:
    """Yields the texts that may replace a node."""
    match node:
        case ast.BinOp(left, operator, right):
            yield from (ast.unparse(ast.BinOp(left, other(), right)) for other in SWAPPED.get(type(operator), []))
        case ast.BoolOp(operator, values):
            yield from (ast.unparse(ast.BoolOp(other(), values)) for other in SWAPPED[type(operator)])
        case ast.Compare(left, [operator], [right]):
            yield from (ast.unparse(ast.Compare(left, [other()], [right])) for other in SWAPPED[type(operator)])
        case ast.Compare(left, operators, rights):
            for at, operator in enumerate(operators):
                for other in SWAPPED[type(operator)]:
                    yield ast.unparse(ast.Compare(left, [*operators[:at], other(), *operators[at + 1 :]], rights))
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield ast.unparse(operand)
        case ast.Constant(bool(value)):
            yield str(not value)
        case ast.Constant(int(value) | float(value)):
            yield repr(value + 1)
        case ast.Return(ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value in (None, False)):
            yield "return None"
        case ast.Expr(ast.Call()):
            yield "pass"


def mutants_of(file: str, source: str) -> list[Mutant]:
    """Lists the mutants of a module; annotations and docstrings have none."""
    lines = source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()))
    found: list[Mutant] = []

    def visit(node: ast.AST, function: str) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            function = f"{function}.{node.name}" if function else node.name
        if isinstance(node, (ast.expr, ast.stmt)):
            begin = starts[node.lineno - 1] + node.col_offset
            end = starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
            for text in changed(node):
                new = f"({text})" if isinstance(node, ast.expr) else text
                old = source.encode()[begin:end].decode()
                found.append(Mutant(file, node.lineno, function, old, new, begin, end))
        if isinstance(node, ast.JoinedStr):
            return  # before Python 3.12, its parts have no places of their own
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
                    continue
                if isinstance(child, ast.keyword) and child.arg == "strict":
                    continue  # of `zip`: an assertion
                if isinstance(child, ast.AST):
                    visit(child, function)

    visit(ast.parse(source), "")
    return found


class Copy:
    """A copy of `python/` next to links to everything else, with one change at a time."""

    def __init__(self, root: Path, folder: Path, modules: list[str], tests: list[str]) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for each in root.iterdir():
            if each.name not in ("python", "target", ".git"):
                (folder / each.name).symlink_to(each)
        shutil.copytree(root / "python", folder / "python", ignore=shutil.ignore_patterns("__pycache__"))
        self.folder = folder
        paths = {"PYTHONPATH": f"{folder / 'python'}{os.pathsep}{folder}", "PYTHONDONTWRITEBYTECODE": "1"}
        command, environment = [sys.executable, "-P", str(RUNNER), *tests], os.environ | paths | ONE_THREAD
        self.process = subprocess.Popen(
            command, cwd=folder, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        found = self._answer({"modules": modules})
        if found is None:
            said = (folder / "tests.log").read_text(encoding="utf-8")
            raise UserError(f"{', '.join(tests)}: expected tests that pass without a change, got {said[-2000:]}")
        self.seconds: dict[str, float] = found["seconds"]
        self.reached: dict[str, list[str]] = found["reached"]
        self.starting: list[str] = found["starting"]
        if not all(map(self._passes, self._ordered(self.seconds))):
            raise UserError(f"{', '.join(tests)}: expected tests that pass in any order, the fastest first")

    def tests_of(self, file: str, function: str) -> list[list[str]]:
        """The tests that a change of a function can reach, by their files.

        For a module, these are the tests of its functions.
        """
        reached = set(self.reached.get(f"{file} {function}", []))
        if not function or "" in reached:
            reached.update(*(tests for name, tests in self.reached.items() if name.startswith(f"{file} ")))
        return self._ordered((reached | {*self.starting}) - {""})

    def _ordered(self, tests: Iterable[str]) -> list[list[str]]:
        """The tests of each file, the fastest first; those that start processes last."""
        files: dict[str, list[str]] = {}
        for test in sorted(tests, key=lambda test: (test in self.starting, self.seconds[test])):
            files.setdefault(test.partition("::")[0], []).append(test)
        return sorted(files.values(), key=self._duration)

    def _duration(self, tests: list[str]) -> float:
        """How many seconds these tests take."""
        return sum(self.seconds[test] for test in tests)

    def catches(self, mutant: Mutant) -> bool:
        """Whether some test fails with a mutant, or takes too long."""
        tests, file = self.tests_of(mutant.file, mutant.function), self.folder / mutant.file
        source = file.read_bytes()
        file.write_bytes(mutant.applied(source))
        try:
            return not all(map(self._passes, tests))
        finally:
            file.write_bytes(source)

    def close(self) -> None:
        """Ends the process that runs the tests."""
        self.process.communicate()

    def _passes(self, tests: list[str]) -> bool:
        """Whether these tests pass in this order, in time."""
        limit_s = LEAST_S + SLOWEST * self._duration(tests)
        return bool(self._answer({"tests": tests, "limit_s": limit_s}))

    def _answer(self, request: dict[str, Any]) -> Any:
        """The answer of the process to a request."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps(request), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())
