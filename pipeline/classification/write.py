"""The second pass over a table: writes every row with its answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from math import isfinite
from typing import TypeAlias, TypeGuard, TypeVar

from pipeline.answers import BatchAnswers, Matcher, System, answered
from pipeline.bands import Band, band, bounded
from pipeline.classification.columns import CONFIDENCE, COST, STATUS, Columns
from pipeline.classification.rollup import roll_ups
from pipeline.classification.summary import SystemSummary
from pipeline.classification.titles import translations
from pipeline.decisions import NO_DECISIONS, Decisions, decided
from pipeline.money import ZERO, total
from pipeline.settings import Settings
from pipeline.tables import Batch, NewColumn, Writer

__all__ = ["SETTLED", "Observe", "Tally", "classified", "write"]

Observe: TypeAlias = Callable[[Batch, BatchAnswers], None]
"""Receives the texts of a batch and their answers, as they are written."""

Table = TypeVar("Table", bound=Batch)

SETTLED = ("ok", "decided", "empty", "pending")
"""The statuses that need no look, or cannot have one yet."""

MOST_COUNTED = 4096
"""How many different answers are counted before their figures are added up."""


@dataclass(slots=True)
class _SystemTally:
    """Running counts of the rows in one system."""

    statuses: Counter[str] = field(default_factory=Counter)
    cost_usd: Decimal = ZERO
    confidences: Counter[int] = field(default_factory=Counter)
    bands: Counter[Band] = field(default_factory=Counter)
    answers: Counter[tuple[str, float | None]] = field(default_factory=Counter)
    """Rows by status and confidence that are not added up yet."""

    def add_up(self, system: System) -> None:
        for (status, confidence), often in self.answers.items():
            self.statuses[status] += often
            if _is_known(confidence, status):
                self.confidences[round(100 * bounded(confidence))] += often
                self.bands[band(system, confidence)] += often
        self.answers.clear()


@dataclass(slots=True)
class Tally:
    """Running counts of the written rows."""

    _systems: dict[System, _SystemTally]
    rows: int = 0
    _to_check: int = 0
    _row_statuses: Counter[tuple[str, ...]] = field(default_factory=Counter)

    @classmethod
    def of(cls, systems: Iterable[System]) -> Tally:
        """Return an empty tally."""
        return cls({system: _SystemTally() for system in systems})

    @property
    def systems(self) -> dict[System, SystemSummary]:
        """The figures of each system."""
        self._add_up()
        return {
            system: SystemSummary(
                dict(tally.statuses), tally.cost_usd, dict(tally.confidences), dict(tally.bands)
            )
            for system, tally in self._systems.items()
        }

    @property
    def cost_usd(self) -> Decimal:
        """The sum of the known costs of rows, in US dollars."""
        return total(tally.cost_usd for tally in self._systems.values())

    @property
    def to_check(self) -> int:
        """Rows to review: a system has no code for them, or an uncertain one."""
        self._add_up()
        return self._to_check

    def add(self, columns: Sequence[NewColumn]) -> None:
        """Count the rows of a batch by its new columns."""
        values = [column.values for column in columns]
        width = (len(values) - 1) // len(self._systems)
        self.rows += len(values[-1])
        self._row_statuses.update(zip(*values[STATUS:-1:width], strict=True))
        for place, tally in enumerate(self._systems.values()):
            own = values[place * width :]
            tally.answers.update(zip(own[STATUS], own[CONFIDENCE], strict=True))
            if paid := [usd for usd in own[COST] if usd]:
                tally.cost_usd = total([tally.cost_usd, *paid])
        answers = (len(tally.answers) for tally in self._systems.values())
        if max(len(self._row_statuses), *answers) > MOST_COUNTED:
            self._add_up()

    def _add_up(self) -> None:
        for system, tally in self._systems.items():
            tally.add_up(system)
        for statuses, often in self._row_statuses.items():
            if any(status not in SETTLED for status in statuses):
                self._to_check += often
        self._row_statuses.clear()


def _is_known(confidence: float | None, status: str) -> TypeGuard[float]:
    """Return whether a matcher stated a confidence; that of a decision is always 1."""
    return confidence is not None and isfinite(confidence) and status != "decided"


def write(
    batches: Iterable[Batch],
    matcher: Matcher,
    writer: Writer,
    settings: Settings,
    advance: Callable[[int], object],
    observe: Observe = lambda _batch, _answers: None,
    decisions: Decisions = NO_DECISIONS,
) -> Tally:
    """Ask the matcher for the answers of each batch and write the rows, in their order."""
    tally = Tally.of(settings.systems)
    made = Columns(settings)
    for batch, answers in classified(batches, matcher, settings, decisions):
        columns = made.of(answers)
        writer.write(batch, columns)
        tally.add(columns)
        observe(batch, answers)
        advance(len(batch.texts))
    return tally


def classified(
    batches: Iterable[Table],
    matcher: Matcher,
    settings: Settings,
    decisions: Decisions = NO_DECISIONS,
) -> Iterator[tuple[Table, BatchAnswers]]:
    """Yield each batch with its answers: as people decided, rolled up and translated."""
    changes = [roll_ups(settings), translations(settings)]
    for batch, answers in answered(batches, matcher):
        if decisions:
            answers = decided(decisions, batch.texts, answers)
        for change in changes:
            answers = {**answers, **{of: each(answers[of]) for of, each in change.items()}}
        yield batch, answers
