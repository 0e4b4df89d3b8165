"""Collects, while a table is written, what its report shows; memory does not grow with rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

from pipeline.answers import Answer, BatchAnswers, Match, Matched, System
from pipeline.bands import bounded
from pipeline.classification.columns import review_under, status
from pipeline.classification.excerpts import NO_MODELS, READ, Excerpts, other_columns
from pipeline.classification.write import SETTLED
from pipeline.codes.table import cut
from pipeline.settings import Settings
from pipeline.tables import Batch

if TYPE_CHECKING:  # the report of a paid run needs no engine
    from pipeline.engine.model import ModelFolder

__all__ = ["BINS", "FIELD_DIGITS", "SHOWN", "Collected", "Doubtful", "Judged", "SystemFigures"]

BINS = 100
"""Bins of the scale of confidence, each .01 wide."""

SHOWN = 10
"""Texts to look at that the report lists, the least certain ones."""


FIELD_DIGITS = 2
"""Leading digits by which the report counts codes: the division, group, segment or sector."""


@dataclass(slots=True)
class SystemFigures:
    """What the answers of one system are worth.

    Attributes:
        statuses: rows by status.
        confidences: rows with a best match by the bin of its confidence, from 0.
        fields: rows by the field of their best match: see `FIELD_DIGITS`.
        sure: the sum of the confidences of all best matches.
    """

    statuses: Counter[str] = field(default_factory=Counter)
    confidences: Counter[int] = field(default_factory=Counter)
    fields: Counter[str] = field(default_factory=Counter)
    sure: float = 0.0


class Judged(NamedTuple):
    """The status that a row shows for an answer, and the best match; None without any."""

    status: str
    best: Match | None


@dataclass(slots=True)
class Doubtful:
    """A text to look at, and how many rows have it.

    The doubt is 1 minus the lowest confidence of its uncertain matches; 1 if one is missing. The
    columns are the others of its first row.
    """

    doubt: float
    row: int
    text: str
    answers: dict[System, Judged]
    digest: bytes
    columns: dict[str, str] = field(default_factory=dict)
    rows: int = 1

    def __lt__(self, other: Doubtful) -> bool:
        """Sort by how much a text needs a look, the least first; of equals, the first row last."""
        return (self.doubt, -self.row) < (other.doubt, -other.row)


class Collected:
    """The figures of a report.

    Attributes:
        models: the learned models that replace the package's.
        excerpts: makes excerpts of the table's texts.
    """

    def __init__(
        self, settings: Settings, models: Mapping[System, ModelFolder] = NO_MODELS
    ) -> None:
        self.settings, self.models = settings, models
        self.excerpts = Excerpts()
        self.rows = 0
        self.systems = {system: SystemFigures() for system in settings.systems}
        self._doubtful: list[Doubtful] = []
        self._listed: dict[bytes, Doubtful] = {}

    @property
    def doubtful(self) -> list[Doubtful]:
        """The texts that most need a look, in that order."""
        return sorted(self._doubtful, reverse=True)

    def add(self, batch: Batch, answers: BatchAnswers) -> None:
        """Count a batch of rows."""
        self.excerpts.count(batch.texts)
        columns = cache(lambda: other_columns(batch.to_arrow(), self.settings))
        under = {system: review_under(self.settings, system) for system in self.systems}
        for place, text in enumerate(batch.texts):
            self.rows += 1
            row = {
                system: _judged(answers[system][place], under[system]) for system in self.systems
            }
            for system, judged in row.items():
                _count(self.systems[system], system, judged)
            if any(judged.status not in SETTLED for judged in row.values()):
                self._keep(text, row, place, columns)

    def _keep(
        self,
        text: str,
        row: dict[System, Judged],
        place: int,
        columns: Callable[[], list[dict[str, str]]],
    ) -> None:
        digest = sha256(text.encode("utf-8", "surrogatepass")).digest()
        if digest in self._listed:
            self._listed[digest].rows += 1
            return
        new = Doubtful(_doubt(row), self.rows, text[:READ], row, digest)
        if len(self._doubtful) == SHOWN:
            if new < self._doubtful[0]:
                return
            del self._listed[heappop(self._doubtful).digest]
        new.columns = columns()[place]
        self._listed[digest] = new
        heappush(self._doubtful, new)


def _judged(answer: Answer | None, under: float) -> Judged:
    best = answer.matches[0] if isinstance(answer, Matched) and answer.matches else None
    return Judged(status(answer, under), best)


def _count(figures: SystemFigures, system: System, judged: Judged) -> None:
    figures.statuses[judged.status] += 1
    if (best := judged.best) is None:
        return
    figures.fields[cut(system, best.code, FIELD_DIGITS)] += 1
    if judged.status != "decided":
        confidence = bounded(best.confidence)
        figures.confidences[min(BINS - 1, max(0, int(confidence * BINS)))] += 1
        figures.sure += confidence


def _doubt(row: dict[System, Judged]) -> float:
    return max(
        1.0 if judged.best is None else 1 - judged.best.confidence
        for judged in row.values()
        if judged.status not in SETTLED
    )
