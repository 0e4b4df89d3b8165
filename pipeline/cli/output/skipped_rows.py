"""Describes the rows of a history that are skipped, or learned under another code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from pipeline.codes import Retired
from pipeline.engine.model import Lessons

__all__ = ["left_out", "retired_codes"]

SHOWN = 10
"""The most unknown codes, and the most retired codes, in one line."""


def left_out(lessons: Lessons) -> Iterator[str]:
    """Return a line for each reason to skip rows, with their number."""
    if lessons.without_text:
        yield f"skipped: {_rows(lessons.without_text)} without text"
    if lessons.without_code:
        yield f"skipped: {_rows(lessons.without_code)} without a code"
    if lessons.unknown:
        most = [f"{code[:40]} ({rows:,})" for code, rows in lessons.unknown.most_common()]
        yield (
            f"skipped: {_rows(lessons.unknown.total())} whose code the "
            f"{lessons.table.system} table lacks, or that is not a full code: {_named(most)}"
        )
    yield from _retired(lessons)
    if lessons.beyond:
        yield (
            f"{_rows(lessons.beyond)} with commodities that the table lacks: their class is the "
            "answer until you add the full table (tender-pipeline codes add unspsc FILE)"
        )


def retired_codes(lessons: Lessons) -> dict[str, dict[str, Any]]:
    """Return for each retired code its rows, last day and successor."""
    return {
        code: {"rows": rows, "until": end.until.isoformat(), "successor": end.successor}
        for code, rows, end in _ended(lessons)
    }


def _retired(lessons: Lessons) -> Iterator[str]:
    ended = list(_ended(lessons))
    kept = [(code, rows, end) for code, rows, end in ended if end.successor]
    lost = [(code, rows, end) for code, rows, end in ended if not end.successor]
    if kept:
        most = [f"{code} ({n:,}, until {end.until}, now {end.successor})" for code, n, end in kept]
        yield f"learned as its successor: {_whose(lessons, kept)}: {_named(most)}"
    if lost:
        most = [f"{code} ({n:,}, until {end.until})" for code, n, end in lost]
        yield f"skipped: {_whose(lessons, lost)}, with no successor known: {_named(most)}"


def _ended(lessons: Lessons) -> Iterator[tuple[str, int, Retired]]:
    """Return (code, rows, end) of the retired codes, the most frequent first."""
    for code, rows in lessons.retired.most_common():
        yield code, rows, lessons.retirements[code]


def _whose(lessons: Lessons, some: Iterable[tuple[str, int, Retired]]) -> str:
    rows = sum(rows for _, rows, _ in some)
    return f"{_rows(rows)} whose {lessons.table.system} code is retired"


def _named(codes: list[str]) -> str:
    more = len(codes) - SHOWN
    return ", ".join(codes[:SHOWN]) + (f" and {more:,} more" if more > 0 else "")


def _rows(number: int) -> str:
    return "1 row" if number == 1 else f"{number:,} rows"
