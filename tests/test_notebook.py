"""The Python interface in a real Jupyter kernel, whose event loop is running."""

from __future__ import annotations

import nbformat
import pytest
from nbclient import NotebookClient

CELLS = [
    """
import asyncio, pandas as pd, pipeline
assert asyncio.get_running_loop().is_running()
frame = pd.DataFrame({"description": ["Road marking", None, "Office chairs"]}, index=[3, 5, 9])
""",
    """
result = pipeline.classify(frame, systems=["cpv", "naics"], top=2)
enriched = result.to_pandas()
assert list(enriched.index) == [3, 5, 9]
assert enriched.loc[9, "cpv_code"].startswith("39")
""",
    """
again = await pipeline.classify_async(frame, systems=["cpv", "naics"], top=2)
assert again.table.equals(result.table)
""",
    """
many = pd.concat([frame] * 2000, ignore_index=True)
parallel = pipeline.classify(many, systems=["naics"], jobs=2)
assert parallel.table.equals(pipeline.classify(many, systems=["naics"]).table)
""",
    "print(result.summary)",
    "result",
]


@pytest.mark.filterwarnings("default")  # of Jupyter's own client, not of ours
def test_every_form_works_in_a_notebook() -> None:
    cells = [nbformat.v4.new_code_cell(cell) for cell in CELLS]  # type: ignore[no-untyped-call]
    notebook = nbformat.v4.new_notebook(cells=cells)  # type: ignore[no-untyped-call]
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    printed = notebook.cells[-2].outputs[0]["text"]
    assert "3 rows" in printed
    assert "3 rows" in notebook.cells[-1].outputs[0]["data"]["text/plain"]
