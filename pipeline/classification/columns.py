"""The columns that are added to a table: their names, types and values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from functools import cache, partial
from math import inf
from pathlib import Path
from typing import Any, Generic, TypeVar

import pyarrow as pa
from msgspec.structs import asdict

from pipeline.answers import (
    Answer,
    BatchAnswers,
    Decided,
    Explained,
    Failed,
    Matched,
    Pending,
    System,
)
from pipeline.bands import OK_FROM
from pipeline.classification.summary import NOT_FAILED
from pipeline.errors import SettingsError
from pipeline.money import ZERO, known_total
from pipeline.quoting import listed
from pipeline.settings import Settings
from pipeline.tables import Cells, NewColumns
from pipeline.tables.table import ARROW_USD
from pipeline.wording import option

__all__ = [
    "CONFIDENCE",
    "COST",
    "MATCHES",
    "STATUS",
    "Columns",
    "PerAnswer",
    "check_free",
    "cost",
    "never_ok",
    "new_fields",
    "review_under",
    "status",
]


T = TypeVar("T")

MOST_BYTES = 32 << 20
"""The memory for the cached results and their answers, over all systems."""

TRIAL_BYTES = 2 << 20
"""Once the cache is this large, it is given up if hardly any row shares an answer."""

RARELY = 0.02
"""If fewer rows than this share the answer of an earlier row, the cache does not pay."""

ANSWER_BYTES, MATCH_BYTES = 400, 250
"""The memory of an answer with its result, and of each of its matches."""


class PerAnswer(Generic[T]):
    """A function of answers with a cache: rows that share an answer share a call.

    The embedded engine makes a new answer for each row, while the ledger's matcher returns the same
    one for all rows with a text. When the cache is full, all of it is dropped.

    Args:
        function: returns the result for an answer.
        systems: how many systems have such an object of their own; they share the memory.
    """

    def __init__(self, function: Callable[[Answer | None], T], systems: int = 1) -> None:
        self._function = function
        self._most = MOST_BYTES // systems
        self._trial = True
        self._forget()

    def __call__(self, answers: Sequence[Answer | None]) -> list[T]:
        """Return the results for the answers of a batch."""
        if not self._most:
            return [*map(self._function, answers)]
        known, new = self._known, self._new
        results = [known.get(id(answer)) or new(answer) for answer in answers]
        self._rows += len(answers)
        if self._trial and self._bytes > TRIAL_BYTES:
            self._trial = False
            if self._rows - len(self._alive) < RARELY * self._rows:
                self._most = 0
        if self._bytes > self._most:
            self._forget()
        return results

    def _new(self, answer: Answer | None) -> T:
        self._known[id(answer)] = result = self._function(answer)
        self._alive.append(answer)
        matches = answer.matches if isinstance(answer, Matched) else ()
        self._bytes += ANSWER_BYTES + MATCH_BYTES * len(matches)
        return result

    def _forget(self) -> None:
        self._known: dict[int, T] = {}
        self._alive: list[Answer | None] = []  # so that no other answer gets the same id
        self._bytes = self._rows = 0


CONFIDENCE, STATUS, COST = 2, 3, 4
"""The positions of what is counted among the columns of a system: see `new_fields`."""

MATCHES = pa.list_(
    pa.struct([("code", pa.string()), ("title", pa.string()), ("confidence", pa.float64())])
)

FREE = Cells((ZERO,))
"""The total cost of a row that was paid for in earlier rows or jobs, like most rows."""


def new_fields(settings: Settings) -> list[pa.Field]:
    """Return the columns that a job adds, in the order of the output."""
    fields: list[pa.Field] = []
    for system in settings.systems:
        name = settings.column_prefix + system
        fields += [
            pa.field(f"{name}_code", pa.string()),
            pa.field(f"{name}_title", pa.string()),
            pa.field(f"{name}_confidence", pa.float64()),
            pa.field(f"{name}_status", pa.string()),
            pa.field(f"{name}_cost_usd", ARROW_USD),
        ]
        if settings.top > 1:
            fields.append(pa.field(f"{name}_matches", MATCHES))
        if settings.explain:
            fields.append(pa.field(f"{name}_why", pa.string()))
    return [*fields, pa.field(f"{settings.column_prefix}cost_usd", ARROW_USD)]


def check_free(names: Sequence[str], settings: Settings) -> None:
    """Refuse a table that already has columns with the names of the new ones.

    Raises:
        SettingsError: such columns exist; the message names them.
    """
    ours = {field.name for field in new_fields(settings)}
    taken = [name for name in names if name in ours]
    if taken:
        raise SettingsError(
            f"The table already has the column{'s' if len(taken) > 1 else ''} {listed(taken)}.",
            f"Give the new columns other names: {option('column_prefix', 'new_')}.",
        )


def review_under(settings: Settings, system: System) -> float:
    """Return the confidence under which a system's answers are marked ``review``.

    It is infinite if a learned model answers whose held-out rows showed no threshold: see
    `pipeline.train`.
    """
    least = settings.min_confidence
    if least is None:
        least = OK_FROM[system]
        for folder, sha256 in settings.models.items():
            least = _ok_from(folder, sha256).get(system, least)
    return max(least, settings.roll_up or 0.0)


def never_ok(settings: Settings) -> Iterator[str]:
    """Yield a warning for each system that marks every answer ``review``."""
    for system in settings.systems:
        if review_under(settings, system) == inf:
            yield (
                f"No {system} code will be ok: the rows held out when the model was trained do "
                "not show from which confidence two in three codes are right. Train it again, on "
                f"more rows, or choose a threshold: {option('min_confidence')}."
            )


@cache
def _ok_from(folder: str, sha256: str) -> dict[System, float]:  # noqa: ARG001 - tells versions apart
    """Return the threshold of each system of a learned model."""
    from pipeline.engine.model import model_folder  # takes a while, and a service needs none

    model = model_folder(Path(folder))
    return {system: model.ok_from.get(system, inf) for system in model.systems}


def status(answer: Answer | None, under: float) -> str:
    """Return the status of a row: see the table in ``docs/reference/columns.md``."""
    if isinstance(answer, Decided):
        return "decided"
    if isinstance(answer, Matched):  # nearly all answers, so without a `match` statement
        if not answer.matches:
            return "no_match"
        return "review" if answer.matches[0].confidence < under else "ok"
    match answer:
        case None:
            return "empty"
        case Pending():
            return "pending"
        case Failed(error):  # which a service may have named like a row that has not failed
            return error.upper() if error in NOT_FAILED else error


class Columns:
    """Makes the columns of `new_fields` for one batch after the other.

    The cells of an answer are made once for the rows that share it.
    """

    def __init__(self, settings: Settings) -> None:
        self._fields = new_fields(settings)
        self._cells: dict[System, PerAnswer[Cells]] = {}
        for system in settings.systems:
            made = partial(_cells, settings, review_under(settings, system))
            self._cells[system] = PerAnswer(made, len(settings.systems))

    def of(self, answers: BatchAnswers) -> NewColumns:
        """Return the columns for the answers of a batch."""
        groups = [cells(answers[system]) for system, cells in self._cells.items()]
        return NewColumns.of(self._fields, [*groups, _totals(groups)])


def cost(answer: Answer | None) -> Decimal | None:
    """Return what the job paid for an answer, in US dollars; 0 for a row without text.

    None, an empty cell in the output, means that the cost is unknown.
    """
    return ZERO if answer is None else answer.cost_usd


def _totals(groups: Sequence[Sequence[Cells]]) -> list[Cells]:
    costs = [[cells.values[COST] for cells in group] for group in groups]
    if all(column.count(ZERO) == len(column) for column in costs):  # as in most batches
        return [FREE] * len(costs[0])
    return [*map(_total, zip(*costs, strict=True))]


def _total(costs: Sequence[Decimal | None]) -> Cells:
    return FREE if costs.count(ZERO) == len(costs) else Cells((known_total(costs),))


def _cells(settings: Settings, under: float, answer: Answer | None) -> Cells:
    matches = answer.matches if isinstance(answer, Matched) else None
    best: tuple[Any, ...] = (None, None, None)
    if matches:
        first = matches[0]
        best = (first.code, first.title, first.confidence)
    values = (*best, status(answer, under), cost(answer))
    if settings.top > 1:
        listed = None if matches is None else [asdict(each) for each in matches[: settings.top]]
        values = (*values, listed)
    if settings.explain:
        values = (*values, (answer.why or None) if isinstance(answer, Explained) else None)
    return Cells(values)
