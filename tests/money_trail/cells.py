"""What every cell of an output must have: the engine's own answer, and its price once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal
from hashlib import sha256

from pipeline.answers import SYSTEMS, Matched, System
from pipeline.engine import Engine
from pipeline.money import ZERO, total
from pipeline.paid.ledger.calls import INTERRUPTED
from tests.money_trail.books import Attempt, Output

__all__ = ["cells_are_right"]


def cells_are_right(output: Output, attempts: Sequence[Attempt], job: int) -> list[str]:
    """What was answered has the engine's code, what was not has none; each cost occurs once.

    Args:
        output: what a job wrote.
        attempts: those until then.
        job: its number; what it paid stands in the output, not what others did.
    """
    calls: defaultdict[tuple[System, str], list[Attempt]] = defaultdict(list)
    texts = [" ".join(row["description"].split()) for row in output.rows]
    by_digest = {sha256(text.encode()).digest(): text for text in texts}
    for attempt in attempts:
        if attempt.digest in by_digest:  # else its text left the table
            calls[attempt.system, by_digest[attempt.digest]].append(attempt)
    best = _best_matches(sorted({*texts} - {""}))
    left_out = {
        system
        for row, text in zip(output.rows, texts, strict=True)
        for system in SYSTEMS
        if text and not calls[system, text] and row[f"{system}_status"] == DOWN[0]
    }
    told: set[tuple[System, str]] = set()
    complaints = []
    for number, (row, text) in enumerate(zip(output.rows, texts, strict=True)):
        for system in SYSTEMS:
            call = (system, text)
            paid = [one.cost_usd for one in calls[call] if one.job == job and one.state != "free"]
            expected = _expected(text, calls[call], best.get(call, ("", "")), job)
            found = tuple(row[f"{system}_{name}"] for name in ("status", "code", "title"))
            if found == DOWN and system in left_out and not _is_answered(calls[call]):
                expected = DOWN  # whatever happened to it before
            cell = row[f"{system}_cost_usd"]
            cost = Decimal(cell) if cell else None
            if (found, cost) != (expected, ZERO if call in told else _known(paid)):
                complaints.append(f"row {number}, {system}: {found}, {cost}; expected {expected}")
            told.add(call)
    return complaints


DOWN = ("HTTP_503", "", "")
"""The cells of a call that a run did not make, because its system was down."""


def _is_answered(attempts: Sequence[Attempt]) -> bool:
    return bool(attempts) and attempts[-1].state == "answered"


def _known(paid: Sequence[Decimal | None]) -> Decimal | None:
    """Return what is known to be paid; None if that is nothing, and something may have been."""
    known = total(usd for usd in paid if usd is not None)
    return known if known or None not in paid else None


def _best_matches(texts: list[str]) -> dict[tuple[System, str], tuple[str, str]]:
    """Return the code and title that the engine gives; no entry means none."""
    (answers,) = Engine(SYSTEMS, 10).answers([texts])
    return {
        (system, text): (answer.matches[0].code, answer.matches[0].title)
        for system in SYSTEMS
        for text, answer in zip(texts, answers[system], strict=True)
        if isinstance(answer, Matched) and answer.matches
    }


def _expected(
    text: str, attempts: Sequence[Attempt], best: tuple[str, str], job: int
) -> tuple[str, str, str]:
    """Return the status, code and title, in the output of a job, of a call attempted so."""
    if not attempts:
        return DOWN if text else ("empty", "", "")  # its system was left out
    last = attempts[-1]
    if _is_answered(attempts):
        return ("ok" if best[0] else "no_match", *best)
    held = last.state == "unconfirmed" and last.job != job
    return ("UNCONFIRMED" if held or last.error == INTERRUPTED else str(last.error), "", "")
