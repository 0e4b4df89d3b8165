"""How a result is shown in a notebook: HTML without scripts, for light and dark themes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from jinja2 import Environment

from pipeline.answers import Band, System, band
from pipeline.classification.excerpts import excerpt, models_there, spoken_words
from pipeline.classification.summary import Summary
from pipeline.money import plain
from pipeline.pages import environment
from pipeline.settings import Settings
from pipeline.wording import in_python, readable

SHOWN = 10
"""Rows of a table that a notebook shows."""

LONGEST = 120
"""Characters of a text, or of its excerpt, that are shown at once."""


@dataclass(frozen=True, slots=True)
class _Cell:
    system: System
    code: str | None
    title: str | None
    confidence: float | None
    status: str

    @property
    def band(self) -> Band | None:
        """The band of the code; None without a code or if a person chose it."""
        known = self.confidence is not None and self.status != "decided"
        return band(self.confidence or 0.0) if known else None

    @property
    def share(self) -> float:
        """The confidence within 0 and 1; a service's may be on another scale."""
        return min(1.0, max(0.0, self.confidence or 0.0))


@dataclass(frozen=True, slots=True)
class _Row:
    label: object
    text: str
    excerpt: str
    cells: Sequence[_Cell]
    columns: Mapping[str, str]


def result_html(
    summary: Summary,
    settings: Settings,
    table: pa.Table | None,
    texts: Sequence[str] = (),
    labels: Sequence[object] | None = None,
    others: Sequence[Mapping[str, str]] = (),
) -> str:
    """Return a result's summary and first rows as HTML.

    Without a table, it is the summary alone; without labels, the rows are numbered from 0.

    Args:
        summary: the figures of the job.
        settings: its settings.
        table: the new columns.
        texts: the texts of the rows that are shown.
        labels: the labels of the rows.
        others: what the rows that are shown have in other columns.
    """
    rows: list[_Row] = []
    if table is not None:
        rows = [*_rows(table, settings, not summary.paid, texts, labels, others)]
    template = _templates().get_template("result.html.j2")
    return template.render(summary=summary, systems=settings.systems, rows=rows, longest=LONGEST)


def _rows(
    table: pa.Table,
    settings: Settings,
    by_engine: bool,
    texts: Sequence[str],
    labels: Sequence[object] | None,
    others: Sequence[Mapping[str, str]],
) -> Iterator[_Row]:
    first: list[dict[str, Any]] = table.slice(0, SHOWN).to_pylist()
    models = models_there(settings.models, settings.systems)
    for index, (row, text, columns) in enumerate(zip(first, texts, others, strict=False)):
        cells = [
            _Cell(system, *(row[f"{settings.column_prefix}{system}_{part}"] for part in PARTS))
            for system in settings.systems
        ]
        matches = [(each.system, each.code, each.title or "") for each in cells if each.code]
        words = spoken_words(text, matches, by_engine, models)
        label = index if labels is None else labels[index]
        yield _Row(label, text, excerpt(text, words, LONGEST), cells, columns)


PARTS = ("code", "title", "confidence", "status")


def _remedy(kind: str, summary: Summary) -> str:
    return in_python(summary.remedy(kind))


def _templates() -> Environment:
    templates = environment("pipeline.classification")
    templates.filters |= {"readable": readable, "usd": plain, "remedy": _remedy}
    return templates
