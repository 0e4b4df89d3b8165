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
    """
The enriched frame has the index and the dtypes of yours, and the new columns after them. So it
joins with your other tables. `coded.to_excel("coded.xlsx")` or `coded.to_parquet("coded.parquet")`
saves it.
""",
    """
coded = result.data
coded.dtypes
""",
    """
What is bought most often? The code table has the title of each code, and the codes above it.
""",
    """
codes = pipeline.code_table("cpv")
divisions = coded["cpv_code"].map(codes["division"])
coded.groupby(divisions).size().rename(index=codes["title"]).nlargest(5).to_frame("rows")
""",
    """Which rows need a look? Those with the least confidence come first here.""",
    """
review = result.to_review().sort_values("cpv_confidence")
print(f"{len(review)} of {len(coded)} rows need a look")
review[["description", "cpv_code", "cpv_title", "cpv_confidence"]].head(3)
""",
    """What else could they be? Each row has its matches, the best first.""",
    """
pd.DataFrame(review["cpv_matches"].iloc[0])
""",
    """Why did a row get its code? The words with the most weight come first.""",
    """
pipeline.classify(tenders.loc[["T-0001"]], systems=["cpv"], explain=True).data[["cpv_why"]]
""",
    """The titles in German:""",
    """
german = pipeline.classify(tenders.head(3), systems=["cpv"], language="de")
german.data[["cpv_code", "cpv_title"]]
""",
    """Measure before you trust: this table has the codes that a person gave.""",
    """
everyday = pd.read_csv("../../sample_inputs/everyday.csv")
found = pipeline.evaluate(everyday, system="naics", code_column="expert_naics")
print(found.verdict)
""",
    """
From which confidence on are seven in ten codes right, and how many rows reach it? Twenty rows are
too few to decide; take some hundreds. `found` alone shows the page with all intervals and charts.
""",
    """
found.coverage([0.9, 0.7, 0.5])
""",
    """With this threshold, the status says which rows can go through without a look.""",
    """
(least,) = found.coverage(0.7)["min_confidence"]
sure = pipeline.classify(tenders, systems=["naics"], min_confidence=least)
sure.data["naics_status"].value_counts()
""",
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
            cell.outputs = [each for each in cell.outputs if each.output_type != "display_data"]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook.metadata = nbformat.from_dict({"kernelspec": kernel})
    nbformat.write(notebook, NOTEBOOK)


if __name__ == "__main__":
    main()
