"""Write and run the example notebook of the documentation.

    python scripts/example_notebook.py

writes ``docs/how-to/notebook.ipynb`` with its outputs. Run it after a change of the models or of
what a notebook shows; it needs the extra ``dev``.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from nbclient import NotebookClient

nbformat: Any = import_module("nbformat")  # it has types in part only

NOTEBOOK = Path(__file__).resolve().parents[1] / "docs" / "how-to" / "notebook.ipynb"

CELLS = (
    """Read a table as usual. The sample has 118 tenders in seven languages.""",
    """
import pandas as pd

import pipeline

tenders = pd.read_csv("../../sample_inputs/tenders.csv", index_col="id")[["description"]]
tenders.head(3)
""",
    """Find CPV codes, three for each row. An orange bar marks a code in doubt.""",
    """
result = pipeline.classify(tenders, systems=["cpv"], top=3)
result
""",
    """The enriched frame has the index and the dtypes of yours, and the new columns after them.""",
    """
coded = result.data
coded.dtypes
""",
    """Which rows need a look, and what else could they be?""",
    """
review = result.to_review()
print(f"{len(review)} of {len(coded)} rows need a look")
result.long().head(6)
""",
    """Why did the first row get its code? The words with the most weight come first.""",
    """
result.explain(0)
""",
    """What is bought most often?""",
    """
result.plot()
""",
    """Measure before you trust: this table has the codes that a person gave.""",
    """
everyday = pd.read_csv("../../sample_inputs/everyday.csv")
found = pipeline.evaluate(everyday, system="cpv", code_column="expert_cpv")
print(str(found).partition("\\n\\n")[0])
""",
    """Twenty rows say little. `found` alone shows the page with all intervals and charts.""",
)
"""The cells: texts and code in turn."""


def main() -> None:
    """Write the notebook, with the outputs that a kernel returns."""
    notebook = nbformat.v4.new_notebook()
    for place, text in enumerate(CELLS):
        kind = nbformat.v4.new_code_cell if place % 2 else nbformat.v4.new_markdown_cell
        notebook.cells.append(kind(text.strip(), id=f"cell-{place}"))
    client = NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        resources={"metadata": {"path": str(NOTEBOOK.parent)}},
    )
    client.execute()
    for cell in notebook.cells:
        cell.metadata.clear()  # the times of the execution
        if cell.cell_type == "code":  # a bar appears on a slow machine
            cell.outputs = [each for each in cell.outputs if each.get("name") != "stderr"]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook.metadata = nbformat.from_dict({"kernelspec": kernel})
    nbformat.write(notebook, NOTEBOOK)


if __name__ == "__main__":
    main()
