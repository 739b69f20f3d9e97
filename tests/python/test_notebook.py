"""The notebook of the documentation: every cell runs, and none is committed with its output."""

from __future__ import annotations

from pathlib import Path

import nbformat
from nbclient import NotebookClient

DOCS = Path(__file__).resolve().parents[2] / "docs"
NOTEBOOK = DOCS / "ten-minutes.ipynb"


def written() -> nbformat.NotebookNode:
    notebook: nbformat.NotebookNode = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    return notebook


def test_it_is_committed_as_it_was_written() -> None:
    notebook = written()
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(code) >= 6
    assert all(not cell.outputs and cell.execution_count is None for cell in code)


def test_every_cell_runs(tmp_path: Path) -> None:
    notebook = written()
    here = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=120, resources=here).execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    shown = [output for cell in code for output in cell.outputs]
    kinds = {kind for output in shown for kind in output.get("data", {})}
    assert "image/png" in kinds, "the queue is drawn"
    text = "".join(output.get("text", "") for output in shown)
    assert "mark_over" in text, "the mistakes are reported"
