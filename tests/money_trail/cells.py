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
from pipeline.paid.pool import FAILURES_IN_A_ROW
from tests.money_trail.books import Attempt, Output

MOST_LOST = 2
"""So many lost answers hold a call: it is not sent again."""

OF_THE_RUN = frozenset({"UNAUTHORIZED", "INSUFFICIENT_BALANCE", "RATE_LIMIT_EXCEEDED"})
"""Errors of an attempt that say nothing of its text, and are not told in its cells."""


def cells_are_right(output: Output, attempts: Sequence[Attempt], job: int) -> list[str]:
    """What was answered has the engine's code, what was not has none; each cost occurs once.

    The output is that of the job with a number, and the attempts are those until then.
    """
    calls: defaultdict[tuple[System, str], list[Attempt]] = defaultdict(list)
    texts = [" ".join(row["description"].split()) for row in output.rows]
    by_digest = {sha256(text.encode()).digest(): text for text in texts}
    for attempt in attempts:
        if attempt.digest in by_digest:  # else its text left the table
            calls[attempt.system, by_digest[attempt.digest]].append(attempt)
    best = _best_matches(sorted({*texts} - {""}))
    errors_of = _errors_of_systems_down(attempts, job)
    told: set[tuple[System, str]] = set()
    complaints = []
    for number, (row, text) in enumerate(zip(output.rows, texts, strict=True)):
        for system in SYSTEMS:
            call = (system, text)
            paid = [one.cost_usd for one in calls[call] if one.job == job and one.state != "free"]
            expected = _expected(text, calls[call], best.get(call, ("", "")), job)
            found = tuple(row[f"{system}_{name}"] for name in ("status", "code", "title"))
            if expected is None:
                left_out_with = errors_of.get(system, set())
                expected = (found[0] if found[0] in left_out_with else "not left out", "", "")
                errors_of[system] = {expected[0]}  # one for all calls
            cell = row[f"{system}_cost_usd"]
            cost = Decimal(cell) if cell else None
            if (found, cost) != (expected, ZERO if call in told else _known(paid)):
                complaints.append(f"row {number}, {system}: {found}, {cost}; expected {expected}")
            told.add(call)
    return complaints


def _errors_of_systems_down(attempts: Sequence[Attempt], job: int) -> dict[System, set[str]]:
    """Return the errors of each system that failed often enough in a job to be left out."""
    errors: defaultdict[System, list[str]] = defaultdict(list)
    for attempt in attempts:
        if attempt.job == job and attempt.state not in ("answered", "refused"):
            errors[attempt.system].append(str(attempt.error))
    return {system: {*some} for system, some in errors.items() if len(some) >= FAILURES_IN_A_ROW}


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
) -> tuple[str, str, str] | None:
    """Return the status, code and title, in the output of a job, of a call attempted so.

    None: it was not made, because its system was left out of the run.
    """
    if not text:
        return "empty", "", ""
    last = attempts[-1] if attempts else None
    if last and last.state == "answered":
        return ("ok" if best[0] else "no_match", *best)
    is_held = sum(one.unconfirmed or one.state == "billed" for one in attempts) >= MOST_LOST
    is_told = last and (last.ended or last.job == job) and (is_held or last.error not in OF_THE_RUN)
    if last and is_told and last.error != INTERRUPTED:
        return str(last.error), "", ""
    return ("UNCONFIRMED", "", "") if is_held or is_told else None
