"""The second pass over a table: writes every row with its answers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache, partial
from math import isfinite
from typing import Any, TypeAlias, TypeGuard, TypeVar

from msgspec.structs import replace

from pipeline.answers import (
    Answer,
    Band,
    BatchAnswers,
    Match,
    Matched,
    Matcher,
    System,
    answered,
    band,
    bounded,
)
from pipeline.classification.columns import CONFIDENCE, COST, STATUS, for_distinct, new_columns
from pipeline.classification.manifest import CellMarks
from pipeline.classification.summary import SETTLED, SystemSummary
from pipeline.codes import CodeTable, find_code, load, titles_in
from pipeline.codes.table import parent, stem
from pipeline.decisions.decisions import NO_DECISIONS, Decisions, decided
from pipeline.money import total
from pipeline.settings import Settings
from pipeline.tables.table import Batch, NewColumn, Writer

LINES_KEPT = 100_000
"""Codes whose ancestors are cached; an answer names twenty codes."""

DIGITS = 6
"""Decimal places of a sum; without rounding, .5 + .3 is less than .8."""


def roll_ups(settings: Settings) -> Mapping[System, Change]:
    """Return what rolls up the answers of each system; nothing unless the settings ask for it."""
    if settings.roll_up is None:
        return {}
    return {system: RollUp(load(system), settings.roll_up).answer for system in settings.systems}


class RollUp:
    """Rolls up the answers of one system.

    A code's confidence is the sum over the listed matches at or below it, capped at 1.

    A code is sure from the confidence ``sure`` on.
    """

    def __init__(self, table: CodeTable, sure: float) -> None:
        self._table = table
        self._sure = sure
        self._line = lru_cache(LINES_KEPT)(self._uncached_line)

    def answer(self, answer: Answer | None) -> Answer | None:
        """Insert the deepest confident code before the matches, if the first match is not.

        If no code is confident enough, even at the top level, the answer does not change.
        """
        if not isinstance(answer, Matched) or not answer.matches:
            return answer
        if answer.matches[0].confidence >= self._sure:
            return answer
        deepest = self._deepest(answer.matches)
        if deepest is None:
            return answer
        other_matches = (match for match in answer.matches if match.code != deepest.code)
        return replace(answer, matches=(deepest, *other_matches))

    def _deepest(self, matches: Sequence[Match]) -> Match | None:
        sums: dict[str, float] = defaultdict(float)
        for match in matches:
            for code in self._line(match.code):
                sums[code] += max(0.0, match.confidence)
        sums = {code: min(1.0, round(total, DIGITS)) for code, total in sums.items()}
        sure = [code for code, total in sums.items() if total >= self._sure]
        if not sure:
            return None
        deepest = max(sure, key=lambda code: (self._depth(code), sums[code]))
        return Match(deepest, self._table.titles[deepest], sums[deepest])

    def _depth(self, code: str) -> int:
        return len(stem(self._table.system, code))

    def _uncached_line(self, written: str) -> tuple[str, ...]:
        """Return a code and its ancestors; only the ancestors if the table lacks the code."""
        code = find_code(self._table, written) or written.strip().upper()
        if code not in self._table:
            code = parent(self._table.system, code, self._table.titles)
        line = [code, *self._table.ancestors(code)] if code else []
        return tuple(code_above for code_above in line if self._table.titles[code_above])


def translations(settings: Settings) -> Mapping[System, Change]:
    """Return what translates the titles of CPV codes; nothing if the settings want English ones.

    The other systems have English titles only.
    """
    if settings.language == "en" or "cpv" not in settings.systems:
        return {}
    return {"cpv": partial(_translate, titles_in(settings.language))}


def _translate(titles: Mapping[str, str], answer: Answer | None) -> Answer | None:
    if not isinstance(answer, Matched):
        return answer
    return replace(answer, matches=tuple(_with_title(titles, match) for match in answer.matches))


def _with_title(titles: Mapping[str, str], match: Match) -> Match:
    """Return a match with the official title, or as it is if the CPV lacks its code."""
    return replace(match, title=titles.get(match.code.strip()[:8], match.title))


Observe: TypeAlias = Callable[[Batch, BatchAnswers], None]
"""Receives the texts of a batch and their answers, as they are written."""

Change: TypeAlias = Callable[[Answer | None], Answer | None]
"""Returns another answer for an answer, or the same."""

Table = TypeVar("Table", bound=Batch)


@dataclass(slots=True)
class RowCounts:
    """Running counts of the written rows.

    Attributes:
        systems: the figures of each system.
        rows: how many there are.
        to_check: those to review: a system has no code for them, or an uncertain one.
    """

    systems: dict[System, SystemSummary]
    rows: int = 0
    to_check: int = 0

    @classmethod
    def of(cls, systems: Iterable[System]) -> RowCounts:
        """Return an empty tally."""
        return cls(dict.fromkeys(systems, SystemSummary()))

    @property
    def cost_usd(self) -> Decimal:
        """The sum of the known costs of rows, in US dollars."""
        return total([figures.cost_usd for figures in self.systems.values()])

    def add(self, columns: Sequence[NewColumn]) -> None:
        """Count the rows of a batch by their new columns."""
        values = [column.values for column in columns]
        width = (len(values) - 1) // len(self.systems)
        self.rows += len(values[-1])
        settled = frozenset(SETTLED)
        for statuses, often in Counter(zip(*values[STATUS:-1:width], strict=True)).items():
            if not set(statuses) <= settled:
                self.to_check += often
        for index, system in enumerate(self.systems):
            self.systems[system] += _figures(values[index * width :])


def _figures(columns: Sequence[Sequence[Any]]) -> SystemSummary:
    """Return the figures of a batch in one system, from its columns."""
    statuses, confidences = Counter[str](), Counter[int]()
    bands = Counter[Band]()
    answers = Counter(zip(columns[STATUS], columns[CONFIDENCE], strict=True))
    for (status, confidence), often in answers.items():
        statuses[status] += often
        if _is_known(confidence, status):
            confidences[round(100 * bounded(confidence))] += often
            bands[band(confidence)] += often
    return SystemSummary(statuses, total(filter(None, columns[COST])), confidences, bands)


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
    marks: CellMarks | None = None,
) -> RowCounts:
    """Ask the matcher for the answers of each batch and write the rows, in their order."""
    tally = RowCounts.of(settings.systems)
    for batch, answers in classify_batches(batches, matcher, settings, decisions):
        columns = new_columns(settings, answers)
        writer.write(batch, columns)
        tally.add(columns)
        if marks is not None:
            marks.add(settings.systems, batch.texts, columns)
        observe(batch, answers)
        advance(len(batch.texts))
    return tally


def classify_batches(
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
            answers = {
                **answers,
                **{of: for_distinct(changed, answers[of]) for of, changed in change.items()},
            }
        yield batch, answers
