"""The check of an output's cells knows the calls that a run left out with their system."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

import pytest

from pipeline.answers import SYSTEMS
from pipeline.paid.ledger.calls import INTERRUPTED
from pipeline.paid.pool import FAILURES_IN_A_ROW
from tests.money_trail.attempts import attempt
from tests.money_trail.books import Attempt, Output
from tests.money_trail.cells import cells_are_right

TEXTS = [f"text {row}" for row in range(FAILURES_IN_A_ROW + 1)]
LEFT_OUT = TEXTS[-1]
FIRST_JOB, SECOND_JOB = 1, 2


def psc(text: str, state: str, error: str, job: int = SECOND_JOB) -> Attempt:
    """Return an attempt at a text in the system that is down."""
    digest = sha256(text.encode()).digest()
    return attempt(1, 0.0, state, error=error, digest=digest, system="psc", job=job)


OUTAGE = [psc(text, "free", "HTTP_503") for text in TEXTS[:-1]]
"""The second job's attempts; its run then left the system out."""

BEFORE = [psc(text, "unconfirmed", "TIMEOUT", FIRST_JOB) for text in TEXTS]


def complaints(attempts: Sequence[Attempt], status: str, cost: str = "0") -> list[str]:
    """Return the complaints about the second job's output, by what it has for the last call."""
    rows: list[dict[str, str]] = []
    for text in TEXTS:
        cells = {"status": "HTTP_503", "code": "", "title": "", "cost_usd": "0"}
        row = {f"{system}_{name}": cell for system in SYSTEMS for name, cell in cells.items()}
        rows.append({"description": text, **row})
    rows[-1] |= {"psc_status": status, "psc_cost_usd": cost}
    found = cells_are_right(Output(rows, {}), attempts, SECOND_JOB)
    return [complaint for complaint in found if " psc: " in complaint]


@pytest.mark.parametrize(
    ("others", "status", "cost"),
    [
        ([], "HTTP_503", "0"),
        (BEFORE, "HTTP_503", "0"),
        ([psc(LEFT_OUT, "unconfirmed", INTERRUPTED, FIRST_JOB)], "HTTP_503", "0"),
        ([psc(LEFT_OUT, "free", "INTERNAL_ERROR", FIRST_JOB)], "HTTP_503", "0"),
        ([psc(LEFT_OUT, "free", "RATE_LIMIT_EXCEEDED")], "HTTP_503", "0"),
        ([*BEFORE, *BEFORE], "UNCONFIRMED", "0"),
        ([psc(LEFT_OUT, "unconfirmed", "TIMEOUT")], "TIMEOUT", ""),
        ([psc(LEFT_OUT, "unconfirmed", INTERRUPTED)], "UNCONFIRMED", ""),
        ([psc(LEFT_OUT, "refused", "VALIDATION_ERROR", FIRST_JOB)], "VALIDATION_ERROR", "0"),
    ],
)
def test_a_call_left_out_has_the_error_of_its_system_whatever_another_job_met(
    others: Sequence[Attempt], status: str, cost: str
) -> None:
    attempts = [*others, *OUTAGE]
    assert complaints(attempts, status, cost) == []
    assert len(complaints(attempts, "HTTP_404", cost)) == 1
    assert len(complaints(attempts, status, "0.1")) == 1


def test_a_call_that_is_not_made_although_its_system_answers_is_found() -> None:
    answered = psc(TEXTS[0], "refused", "VALIDATION_ERROR")
    said = complaints([*BEFORE, answered, *OUTAGE[1:]], "HTTP_503")
    assert any("expected ('not left out'" in complaint for complaint in said)
