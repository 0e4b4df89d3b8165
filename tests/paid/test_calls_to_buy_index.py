"""Every call of a table is noted once, at its first row, however many parts that takes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.paid import calls_to_buy
from pipeline.paid.calls_to_buy import CallsToBuy
from pipeline.paid.ledger.calls import text_digest
from pipeline.paid.ledger.job import Job
from pipeline.paid.ledger.ledger import Ledger
from tests.paid.ledger.buying import BASE_URL


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    with closing(Ledger(tmp_path / "ledger.db", BASE_URL)) as ledger:
        yield ledger.open_job("tenders")


@pytest.mark.parametrize(("waiting", "at_once"), [(1, 1), (2, 3), (100, 2), (100, 100)])
def test_a_call_is_noted_at_its_first_row(
    job: Job, monkeypatch: pytest.MonkeyPatch, waiting: int, at_once: int
) -> None:
    monkeypatch.setattr(calls_to_buy, "MOST_WAITING", waiting)
    monkeypatch.setattr(calls_to_buy, "NOTED_AT_ONCE", at_once)
    monkeypatch.setattr(calls_to_buy, "MOST_NOTED", 3)
    rows = ["road", "", "bridge", "road", "tunnel", "quay", "road", "bridge", "lock", "dam"]
    batches: Any = [SimpleNamespace(texts=rows[at : at + 3]) for at in range(0, len(rows), 3)]
    read = CallsToBuy(job, ("cpv", "psc"))
    assert [*read.record(batches)] == batches
    assert read.rows == len(rows)
    first = {text_digest(text): rows.index(text) for text in rows if text}
    for system in ("cpv", "psc"):
        assert job.first_rows(system, [*first, text_digest("")]) == first
