"""The example notebook with its outputs, as Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from generated.markdown import block

__all__ = ["NOTEBOOK", "code_cells", "notebook"]

NOTEBOOK = Path(__file__).parents[2] / "how-to" / "notebook.ipynb"


def notebook() -> str:
    """Return the cells and their outputs."""
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    return "\n\n".join(part for cell in cells for part in _cell(cell))


def code_cells() -> list[str]:
    """Return the code of the notebook."""
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def _cell(cell: dict[str, Any]) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield source
        return
    yield block("python", source)
    for output in cell["outputs"]:
        shown = output.get("data", {"text/plain": output.get("text", "")})
        if "text/html" in shown:
            html = "".join(shown["text/html"])
            yield block("{raw} html", f'<div class="cell-output">{html}</div>')
        else:
            yield block("text", "".join(shown["text/plain"]))
