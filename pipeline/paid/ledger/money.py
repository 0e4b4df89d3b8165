"""What a job has cost: what is certain, and what is not, kept apart."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from itertools import repeat

from pipeline.money import total
from pipeline.paid.ledger.calls import LASTING
from pipeline.paid.ledger.database import Database
from pipeline.paid.ledger.tally import amount

__all__ = ["JobMoney", "job_money"]

AMOUNTS = """
    SELECT state, cost_usd, reserved_usd, count(*) FROM attempts
    WHERE job_id = ? GROUP BY state, cost_usd, reserved_usd
"""


@dataclass(frozen=True, slots=True)
class JobMoney:
    """What a job has cost so far, US dollars.

    Attributes:
        attempts: requests sent.
        priced: attempts whose price is known: their response stated it, or a user did.
        confirmed: the sum of these prices.
        unconfirmed: attempts whose answer was lost, or is not there yet; they may be billed.
        unknown: attempts that ended their call with a response that stated no price.
        at_risk: the sum of what was reserved for the unconfirmed and the unknown.
    """

    attempts: int
    priced: int
    confirmed: Decimal
    unconfirmed: int
    unknown: int
    at_risk: Decimal


def job_money(database: Database, job: int) -> JobMoney:
    """Add up a job's attempts, as they stand at one moment."""
    groups = list(database.rows(AMOUNTS, job))
    priced = [(cost, often) for _, cost, _, often in groups if cost is not None]
    silent = [(state, held, often) for state, cost, held, often in groups if cost is None]
    lost = [(held, often) for state, held, often in silent if state in ("sent", "unconfirmed")]
    unknown = [(held, often) for state, held, often in silent if state in (*LASTING, "pruned")]
    return JobMoney(
        attempts=sum(often for *_, often in groups),
        priced=_count(priced),
        confirmed=_sum(priced),
        unconfirmed=_count(lost),
        unknown=_count(unknown),
        at_risk=_sum([*lost, *unknown]),
    )


def _count(amounts: Iterable[tuple[str, int]]) -> int:
    return sum(often for _, often in amounts)


def _sum(amounts: Iterable[tuple[str, int]]) -> Decimal:
    return total(usd for text, often in amounts for usd in repeat(amount(text), often))
