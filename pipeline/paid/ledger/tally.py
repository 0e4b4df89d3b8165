"""What attempts cost, added up: what is certain and what is not, kept apart."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import repeat

from pipeline.errors import LedgerError
from pipeline.money import ZERO, total
from pipeline.paid.ledger.calls import LASTING

__all__ = ["Tally", "amount"]

WHOLE_DIGITS, DECIMALS = 16, 30
"""More than any price or reservation has; sums have room for ten thousand times as much."""


@dataclass(slots=True)
class Tally:
    """A running sum over attempts, US dollars.

    Attributes:
        attempts: requests sent.
        confirmed: the sum of the known prices.
        unconfirmed: attempts whose answer was lost, or is not there yet; they may be billed.
        unknown: attempts that ended their call with a response that stated no price.
        at_risk: the sum of what was reserved for the unconfirmed and the unknown.
    """

    attempts: int = 0
    confirmed: Decimal = ZERO
    unconfirmed: int = 0
    unknown: int = 0
    at_risk: Decimal = ZERO

    def count(self, state: str, cost: str | None, reserved: str, often: int = 1) -> None:
        """Count attempts that are alike.

        Args:
            state: how they stand.
            cost: what each cost, None if unknown or nothing.
            reserved: the most that each may have cost.
            often: how many there are.

        Raises:
            LedgerError: what the ledger holds as an amount is none.
        """
        self.attempts += often
        if cost is not None:
            self.confirmed = total([self.confirmed, *repeat(amount(cost), often)])
            return
        lost, unknown = state in ("sent", "unconfirmed"), state in (*LASTING, "pruned")
        self.unconfirmed += often * lost
        self.unknown += often * unknown
        if lost or unknown:
            self.at_risk = total([self.at_risk, *repeat(amount(reserved), often)])

    def add(self, other: Tally) -> None:
        """Add another sum to this one."""
        self.attempts += other.attempts
        self.confirmed = total([self.confirmed, other.confirmed])
        self.unconfirmed += other.unconfirmed
        self.unknown += other.unknown
        self.at_risk = total([self.at_risk, other.at_risk])


def amount(text: object) -> Decimal:
    """Return US dollars as the ledger holds them.

    Raises:
        LedgerError: it is no amount, or one that sums could not hold exactly.
    """
    usd = _decimal(text)
    if usd.is_finite() and not usd.is_signed() and usd.adjusted() < WHOLE_DIGITS:
        exponent = usd.as_tuple().exponent
        if isinstance(exponent, int) and exponent >= -DECIMALS:
            return usd
    raise LedgerError(
        f"The ledger holds {text!r} where an amount of money should stand.",
        "See which attempts are wrong: tender-pipeline ledger verify.",
    )


def _decimal(text: object) -> Decimal:
    try:
        return Decimal(text) if isinstance(text, str) else Decimal("NaN")
    except InvalidOperation:
        return Decimal("NaN")
