"""The columns that are added to a table: their names, types and values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from decimal import Decimal
from typing import Any

import pyarrow as pa

from pipeline.answers import (
    Answer,
    BatchAnswers,
    Decided,
    Explained,
    Failed,
    Match,
    Matched,
    Pending,
    System,
)
from pipeline.errors import SettingsError
from pipeline.money import ZERO, known_total
from pipeline.quoting import listed
from pipeline.settings import Settings
from pipeline.tables import NewColumn
from pipeline.tables.table import ARROW_USD

__all__ = ["check_free", "cost", "new_columns", "new_fields", "status"]

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
    ours = {field.name for field in new_fields(settings)}
    taken = [name for name in names if name in ours]
    if taken:
        raise SettingsError(
            f"The table already has the columns {listed(taken)}.",
            "Give the new columns other names: --column-prefix new_.",
        )


def status(answer: Answer | None, review_under: float) -> str:
    """Return the status of a row: see the table in ``docs/reference/columns.md``."""
    if isinstance(answer, Decided):
        return "decided"
    if isinstance(answer, Matched):  # nearly all answers, so without a `match` statement
        if not answer.matches:
            return "no_match"
        return "review" if answer.matches[0].confidence < review_under else "ok"
    match answer:
        case None:
            return "empty"
        case Pending():
            return "pending"
        case Failed(error):
            return error


def new_columns(settings: Settings, answers: BatchAnswers) -> list[NewColumn]:
    """Return the columns of `new_fields` for the answers of a batch."""
    values: list[Sequence[Any]] = []
    for system in settings.systems:
        values += _system_values(settings, system, answers[system])
    costs = ([cost(answer) for answer in answers[system]] for system in settings.systems)
    values.append([_total(row) for row in zip(*costs, strict=True)])
    fields = new_fields(settings)
    return [
        NewColumn(field.name, field.type, column)
        for field, column in zip(fields, values, strict=True)
    ]


def cost(answer: Answer | None) -> Decimal | None:
    """Return what the job paid for an answer, in US dollars; 0 for a row without text.

    None, an empty cell in the output, means that the cost is unknown.
    """
    return ZERO if answer is None else answer.cost_usd


def _total(costs: tuple[Decimal | None, ...]) -> Decimal | None:
    """Return the cost of a row; most rows were paid for in an earlier row or job."""
    return ZERO if costs.count(ZERO) == len(costs) else known_total(costs)


def _system_values(
    settings: Settings, system: System, answers: Sequence[Answer | None]
) -> list[Sequence[Any]]:
    review_under = settings.review_under(system)
    ranked = [_matches(answer) for answer in answers]
    best = [matches[0] if matches else None for matches in ranked]
    values: list[Sequence[Any]] = [
        [match and match.code for match in best],
        [match and match.title for match in best],
        [match and match.confidence for match in best],
        [status(answer, review_under) for answer in answers],
        [cost(answer) for answer in answers],
    ]
    if settings.top > 1:
        values.append([_listed(matches, settings.top) for matches in ranked])
    if settings.explain:
        values.append([_why(answer) for answer in answers])
    return values


def _matches(answer: Answer | None) -> tuple[Match, ...] | None:
    return answer.matches if isinstance(answer, Matched) else None


def _why(answer: Answer | None) -> str | None:
    return (answer.why or None) if isinstance(answer, Explained) else None


def _listed(matches: tuple[Match, ...] | None, top: int) -> list[dict[str, Any]] | None:
    return None if matches is None else [asdict(match) for match in matches[:top]]
