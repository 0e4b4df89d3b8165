"""The second pass over a table: writes every row with its answers."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite
from typing import TypeAlias, TypeVar

from pipeline.answers import BatchAnswers, Matcher, System
from pipeline.bands import Band, band
from pipeline.classification.columns import new_columns
from pipeline.classification.rollup import rolled_up
from pipeline.classification.summary import SystemSummary
from pipeline.classification.titles import in_language
from pipeline.money import ZERO, total
from pipeline.settings import Settings
from pipeline.tables import Batch, NewColumn, Writer

__all__ = ["SETTLED", "Observe", "Tally", "classified", "write"]

Observe: TypeAlias = Callable[[Sequence[str], BatchAnswers], None]
"""Receives the texts of a batch and their answers, as they are written."""

Table = TypeVar("Table", bound=Batch)

SETTLED = ("ok", "decided", "empty", "pending")
"""The statuses that need no look, or cannot have one yet."""


@dataclass(slots=True)
class Tally:
    """Running counts of the written rows.

    Attributes:
        rows: rows written.
        statuses: for each system, the number of rows with each status.
        cost_usd: for each system, the sum of the known costs of rows, in US dollars.
        confidences: for each system, the number of best matches by their confidence in hundredths.
        bands: for each system, the number of best matches in each band.
        to_check: rows to review: a system has no code for them, or an uncertain one.
    """

    rows: int
    statuses: dict[System, Counter[str]]
    cost_usd: dict[System, Decimal]
    confidences: dict[System, Counter[int]]
    bands: dict[System, Counter[Band]]
    to_check: int = 0

    @property
    def systems(self) -> dict[System, SystemSummary]:
        """The figures of each system."""
        return {
            system: SystemSummary(
                dict(counts),
                self.cost_usd[system],
                dict(self.confidences[system]),
                dict(self.bands[system]),
            )
            for system, counts in self.statuses.items()
        }

    @classmethod
    def of(cls, systems: Iterable[System]) -> Tally:
        """Return an empty tally."""
        names = tuple(systems)
        statuses: dict[System, Counter[str]] = {name: Counter() for name in names}
        confidences: dict[System, Counter[int]] = {name: Counter() for name in names}
        bands: dict[System, Counter[Band]] = {name: Counter() for name in names}
        return cls(0, statuses, dict.fromkeys(names, ZERO), confidences, bands)

    def add(self, prefix: str, columns: Sequence[NewColumn], rows: int) -> None:
        """Count a batch by its new columns, whose names begin with a prefix."""
        self.rows += rows
        values = {column.name: column.values for column in columns}
        doubtful = set[int]()
        for system in self.statuses:
            statuses = values[f"{prefix}{system}_status"]
            self.statuses[system].update(statuses)
            doubtful |= {row for row, name in enumerate(statuses) if name not in SETTLED}
            spent = (usd for usd in values[f"{prefix}{system}_cost_usd"] if usd)
            self.cost_usd[system] = total([self.cost_usd[system], *spent])
            sure = values[f"{prefix}{system}_confidence"]
            both = zip(sure, statuses, strict=True)
            known = [each for each, name in both if _is_known(each, name)]
            self.confidences[system].update(round(100 * each) for each in known)
            self.bands[system].update(band(system, each) for each in known)
        self.to_check += len(doubtful)


def _is_known(confidence: float | None, status: str) -> bool:
    """Return whether a matcher stated a confidence; that of a decision is always 1."""
    return confidence is not None and isfinite(confidence) and status != "decided"


def write(
    batches: Iterable[Batch],
    matcher: Matcher,
    writer: Writer,
    settings: Settings,
    advance: Callable[[int], None],
    observe: Observe = lambda _texts, _answers: None,
) -> Tally:
    """Ask the matcher for the answers of each batch and write the rows, in their order.

    Args:
        batches: the table.
        matcher: answers its texts.
        writer: writes the rows.
        settings: which columns to add.
        advance: counts the rows of each batch.
        observe: receives the texts and answers of each batch.
    """
    tally = Tally.of(settings.systems)
    for batch, answers in classified(batches, matcher, settings):
        columns = new_columns(settings, answers)
        writer.write(batch, columns)
        tally.add(settings.column_prefix, columns, len(batch.texts))
        observe(batch.texts, answers)
        advance(len(batch.texts))
    return tally


def classified(
    batches: Iterable[Table], matcher: Matcher, settings: Settings
) -> Iterator[tuple[Table, BatchAnswers]]:
    """Yield each batch with its answers, rolled up and translated as the settings ask for."""
    waiting: deque[Table] = deque()  # a parallel matcher reads ahead

    def texts() -> Iterator[Sequence[str]]:
        for batch in batches:
            waiting.append(batch)
            yield batch.texts

    for answers in in_language(rolled_up(matcher, settings), settings).answers(texts()):
        yield waiting.popleft(), answers
