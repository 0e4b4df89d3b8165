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
import asyncio, os, signal, contextlib, pathlib, pandas as pd, pipeline
assert asyncio.get_running_loop().is_running()
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
    """
large = pd.concat([frame] * 1500, ignore_index=True)
parallel = pipeline.classify(large, systems=["naics"], jobs=2)
assert parallel.table.equals(pipeline.classify(large, systems=["naics"]).table)
""",
    "result",
    'pipeline.classify(frame, text_columns="descripton")',
]

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


@pytest.mark.filterwarnings("default")  # of Jupyter's own client, not of ours
def test_a_notebook_buys_stops_when_interrupted_goes_on_and_shows_errors_on_one_screen(
    tmp_path: Path, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENDER_PIPELINE_API_KEY", service.account.key)
    interrupt = tmp_path / "interrupted"  # until then the fifty calls cannot all be answered
    with serving(Held(service.app(), 12, interrupt)) as address:
        places = (address, str(tmp_path / "ledger.db"), str(interrupt))
        where = f"ADDRESS, LEDGER, INTERRUPTED = {places!r}"
        cells = [nbformat.v4.new_code_cell(cell) for cell in [where, *CELLS]]  # type: ignore[no-untyped-call]
        notebook = nbformat.v4.new_notebook(cells=cells)  # type: ignore[no-untyped-call]
        with pytest.raises(CellExecutionError) as caught:
            NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    *_, interrupted, whole, _, shown, _ = notebook.cells
    said, owned, left = interrupted.outputs[-1]["text"].split()
    assert said == "drained"
    assert 0 < int(owned) < 50
    assert int(owned) + int(left) == 50
    assert Decimal(whole.outputs[-1]["text"]) == service.charged
    assert len(service.asked) == 52
    assert "4 rows" in shown.outputs[-1]["data"]["text/plain"]
    told = ANSI.sub("", caught.value.traceback).strip()
    assert told.endswith("""Use text_columns=["description"].""")
    assert len(told.splitlines()) <= SCREEN, told
