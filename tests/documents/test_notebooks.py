"""The notebooks in examples/notebooks run from top to bottom, and git has no output of them."""

from __future__ import annotations

import ast
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.source_tree import ROOT

FILES = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


def cells(file: Path, kind: str) -> list[dict[str, Any]]:
    return [cell for cell in json.loads(file.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == kind]


def test_there_are_five() -> None:
    assert len(FILES) == 5


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_notebook_has_a_title_code_that_can_be_read_and_no_outputs(file: Path) -> None:
    assert cells(file, "markdown")[0]["source"][0].startswith("# ")
    for cell in cells(file, "code"):
        ast.parse("".join(cell["source"]))
        assert cell["outputs"] == []
        assert cell["execution_count"] is None


@pytest.mark.slow
@pytest.mark.skipif("NOTEBOOKS" not in os.environ, reason="`make notebooks` runs them")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_notebook_runs(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import nbformat
    from nbclient import NotebookClient

    monkeypatch.setenv("PYTHONPATH", str(ROOT / "python"))
    notebook = nbformat.read(file, as_version=4)
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(ROOT)}}).execute()
    folder = ROOT / "build" / "notebooks"
    folder.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, folder / file.name)
