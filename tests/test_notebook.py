"""The Python interface in a real Jupyter kernel, whose event loop is running."""

from __future__ import annotations

import asyncio
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from tests.paid.conftest import service
from tests.paid.serving import Service, serving

__all__ = ["service"]

ANSI = re.compile(r"\x1b\[[0-9;]*m")

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


PAID = [
    """
import asyncio, os, signal, contextlib, pathlib, pandas as pd, pipeline
texts = ["Road marking", None, "Chairs", "Chairs"]
frame = pd.DataFrame({"description": texts}, index=[3, 5, 7, 9])
service = pipeline.PaidService(ADDRESS, ledger=LEDGER, rate="none", workers=2)
""",
    """
planned = pipeline.plan(frame, systems="cpv", service=service)
assert (planned.rows, planned.purchase.to_buy) == (4, 2)
""",
    """
result = pipeline.classify(frame, systems="cpv", service=service, progress=True)
enriched = result.to_pandas(exact_costs=True)
assert list(enriched.index) == [3, 5, 7, 9]
assert enriched["cost_usd"].sum() == result.cost_usd > 0
assert enriched.loc[9, "cost_usd"] == 0
""",
    """
again = await pipeline.classify_async(frame, systems="cpv", service=service)
assert again.cost_usd == 0
assert again.to_pandas()["cpv_code"].equals(enriched["cpv_code"])
""",
    """
many = pd.DataFrame({"description": [f"text {number}" for number in range(50)]})

@contextlib.contextmanager
def interrupting(number):
    def advance(done):
        global interrupt
        if interrupt:
            interrupt = False
            os.kill(os.getpid(), signal.SIGINT)  # as the notebook's button does
    yield advance

def go_on(number, trace):
    pathlib.Path(INTERRUPTED).touch()
    signal.default_int_handler(number, trace)

interrupt = True
signal.signal(signal.SIGINT, go_on)
try:
    pipeline.classify(many, systems="cpv", service=service, progress=interrupting)
except KeyboardInterrupt:
    left = pipeline.plan(many, systems="cpv", service=service).purchase
    print("drained", left.owned, left.to_buy)
""",
    """
whole = pipeline.classify(many, systems="cpv", service=service)
assert set(whole.to_pandas()["cpv_status"]) == {"ok"}
print(whole.cost_usd + result.cost_usd)
""",
]


MISSPELT = """
import pandas as pd, pipeline
frame = pd.DataFrame({"title": ["Road marking"], "reference": ["2024-17"]})
pipeline.classify(frame, text_columns="titel")
"""

SCREEN = 30
"""Lines; it was 102."""


class Held:
    """Lets so many requests through; answers the next ones once a file is there."""

    def __init__(self, app: Any, free: int, flag: Path) -> None:
        self._app = app
        self._left = free
        self._flag = flag

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self._left -= 1
        while self._left < 0 and not self._flag.exists():
            await asyncio.sleep(0.01)
        await self._app(scope, receive, send)


def notebook_of(cells: list[str]) -> nbformat.NotebookNode:
    made = [nbformat.v4.new_code_cell(cell) for cell in cells]  # type: ignore[no-untyped-call]
    notebook: nbformat.NotebookNode = nbformat.v4.new_notebook(cells=made)  # type: ignore[no-untyped-call]
    return notebook


def executed(cells: list[str]) -> list[nbformat.NotebookNode]:
    """Run cells in a kernel, as a notebook does, and return them with their outputs."""
    notebook = notebook_of(cells)
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    done: list[nbformat.NotebookNode] = notebook.cells
    return done


@pytest.mark.filterwarnings("default")  # of Jupyter's own client, not of ours
def test_every_form_works_in_a_notebook_and_an_error_fits_on_one_screen() -> None:
    """One kernel for both, as each takes seconds to start."""
    notebook = notebook_of([*CELLS, MISSPELT])
    with pytest.raises(CellExecutionError) as caught:
        NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    *_, printed, shown, _ = notebook.cells
    assert "3 rows" in printed.outputs[-1]["text"]
    assert "3 rows" in shown.outputs[-1]["data"]["text/plain"]
    told = ANSI.sub("", caught.value.traceback).strip()
    assert told.endswith("""Use text_columns=["title"].""")
    assert len(told.splitlines()) <= SCREEN, told


@pytest.mark.filterwarnings("default")
def test_a_notebook_buys_stops_when_interrupted_and_goes_on(
    tmp_path: Path, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENDER_PIPELINE_API_KEY", service.account.key)
    interrupt = tmp_path / "interrupted"  # until then the fifty calls cannot all be answered
    with serving(Held(service.app(), 12, interrupt)) as address:
        places = (address, str(tmp_path / "ledger.db"), str(interrupt))
        where = f"ADDRESS, LEDGER, INTERRUPTED = {places!r}"
        *_, interrupted, last = executed([where, *PAID])
    said, owned, left = interrupted.outputs[-1]["text"].split()
    assert said == "drained"
    assert 0 < int(owned) < 50
    assert int(owned) + int(left) == 50
    assert Decimal(last.outputs[-1]["text"]) == service.charged
    assert len(service.asked) == 52
