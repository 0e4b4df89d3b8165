"""Reports of small runs, one of them with hostile texts."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.answers import Answer, Band, Decided, Failed, Match, Matched, band
from pipeline.classification.columns import status
from pipeline.classification.summary import SETTLED, Summary, SystemSummary
from pipeline.purchases import Paid, Parked
from pipeline.report import Collected, page
from pipeline.report.changes import Compared
from pipeline.settings import Settings
from pipeline.tables.arrow import ArrowBatch

HOSTILE = '<script>alert(1)</script>\u202e=1+1\x00 & "road" ' + "word " * 20_000


def matched(confidence: float, code: str = "45233140", title: str = "Roadworks") -> Matched:
    return Matched((Match(code, title, confidence),))


SOME: dict[str, Answer | None] = {
    **{f"road {number}": matched(number / 30) for number in range(30)},
    "lost": Failed("TIMEOUT"),
    "unknown": Matched(()),
}


def _bands(answers: dict[str, Answer | None]) -> Counter[Band]:
    engine = (each for each in answers.values() if not isinstance(each, Decided))
    matches = (each.matches for each in engine if isinstance(each, Matched))
    return Counter(band(found[0].confidence) for found in matches if found)


def reported(
    answers: dict[str, Answer | None],
    before: dict[str, Any] | None = None,
    paid: Paid | None = None,
    parked: Parked | None = None,
    compared: Compared | None = None,
    copies: int = 1,
    min_confidence: float = 0.5,
    language: str = "en",
    columns: dict[str, Any] | None = None,
    first: int = 1,
) -> str:
    settings = Settings(systems=("cpv",), min_confidence=min_confidence, language=language)
    collected = Collected(settings)
    for copy in range(copies):
        own = pa.RecordBatch.from_pydict(columns or {"description": list(answers)})
        batch = ArrowBatch(list(answers), own, first + copy * len(answers))
        collected.add(batch, {"cpv": list(answers.values())})
    statuses = Counter([status(each, min_confidence) for each in answers.values()] * copies)
    summary = Summary(
        rows=collected.rows,
        systems={"cpv": SystemSummary(statuses, Decimal("0.0021"), bands=dict(_bands(answers)))},
        cost_usd=Decimal("0.0021"),
        seconds=1.5,
        output=Path("out.csv"),
        paid=paid,
        parked=parked,
        to_check=collected.rows - sum(statuses[each] for each in SETTLED),
    )
    manifest = {
        "input": {"path": "tenders.csv"},
        "finished": "2026-11-22T08:30:00+00:00",
        "summary": summary.to_dict(),
        "versions": {"tender-pipeline": "0.1.0"},
    }
    return page(collected, summary, manifest, before, compared)
