"""The columns that are added to a table: their names, types and values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from functools import cache, partial
from math import inf
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
from msgspec.structs import asdict

from pipeline.answers import (
    OK_FROM,
    Answer,
    BatchAnswers,
    Decided,
    Explained,
    Failed,
    Matched,
    Pending,
    System,
)
from pipeline.classification.summary import NOT_FAILED
from pipeline.errors import SettingsError
from pipeline.money import ZERO, known_total
from pipeline.settings import Settings
from pipeline.tables.table import ARROW_USD, NewColumn
from pipeline.wording import listed, option

CONFIDENCE, STATUS, COST = 2, 3, 4
"""The positions of what is counted among the columns of a system: see `new_fields`."""

MATCHES = pa.list_(
    pa.struct([("code", pa.string()), ("title", pa.string()), ("confidence", pa.float64())])
)


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
    new_names = {field.name for field in new_fields(settings)}
    taken = [name for name in names if name in new_names]
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


def new_columns(settings: Settings, answers: BatchAnswers) -> list[NewColumn]:
    """Return the columns of `new_fields` for the answers of a batch."""
    columns: list[Sequence[Any]] = []
    costs: list[Sequence[Decimal | None]] = []
    width = 5 + (settings.top > 1) + settings.explain
    for system in settings.systems:
        under = review_under(settings, system)
        rows = for_distinct(partial(_cells, settings, under), answers[system])
        columns += zip(*rows, strict=True) if rows else [()] * width
        costs.append(columns[COST - width])
    columns.append([*map(_total, zip(*costs, strict=True))])
    fields = new_fields(settings)
    return [
        NewColumn(field.name, field.type, values)
        for field, values in zip(fields, columns, strict=True)
    ]


Made = TypeVar("Made")


def for_distinct(
    make: Callable[[Answer | None], Made], answers: Sequence[Answer | None]
) -> list[Made]:
    """Return what is made of each answer; rows with the same text share theirs."""
    made = {key: make(answer) for key, answer in {id(answer): answer for answer in answers}.items()}
    return [made[id(answer)] for answer in answers]


def cost(answer: Answer | None) -> Decimal | None:
    """Return what the job paid for an answer, in US dollars; 0 for a row without text.

    None, an empty cell in the output, means that the cost is unknown.
    """
    return ZERO if answer is None else answer.cost_usd


def _total(costs: Sequence[Decimal | None]) -> Decimal | None:
    return ZERO if costs.count(ZERO) == len(costs) else known_total(costs)


def _cells(settings: Settings, under: float, answer: Answer | None) -> tuple[Any, ...]:
    matches = answer.matches if isinstance(answer, Matched) else None
    best: tuple[Any, ...] = (None, None, None)
    if matches:
        first = matches[0]
        best = (first.code, first.title, first.confidence)
    values = (*best, status(answer, under), cost(answer))
    if settings.top > 1:
        listed = None if matches is None else [asdict(match) for match in matches[: settings.top]]
        values = (*values, listed)
    if settings.explain:
        values = (*values, (answer.why or None) if isinstance(answer, Explained) else None)
    return values
