"""What a purchase comes to: what it cost so far, and why it stopped before its end."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from pipeline.money import ZERO, plain

__all__ = ["Paid", "Parked"]


@dataclass(frozen=True, slots=True)
class Paid:
    """What a job bought, whichever of its runs did.

    Attributes:
        attempts: requests sent.
        confirmed_usd: the sum of the prices that responses stated.
        unattributed_usd: the part of it for texts that the table no longer has.
        unconfirmed: attempts whose answer was lost; they may have been billed.
        unknown: answered attempts whose response stated no price.
        at_risk_usd: the most that the unconfirmed and the unknown may have cost.
        over_max_cost_usd: by how much the confirmed costs are more than the run's limit.
    """

    attempts: int
    confirmed_usd: Decimal
    unattributed_usd: Decimal
    unconfirmed: int
    unknown: int
    at_risk_usd: Decimal
    over_max_cost_usd: Decimal = ZERO

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON types; money as text."""
        return {
            name: plain(value) if isinstance(value, Decimal) else value
            for name, value in asdict(self).items()
        }

    def __str__(self) -> str:
        lines = [f"paid by this job: {plain(self.confirmed_usd)} USD, {self.attempts:,} attempts"]
        if self.unattributed_usd:
            lines.append(f"for texts no longer in the table: {plain(self.unattributed_usd)} USD")
        if self.over_max_cost_usd:
            lines.append(f"that is {plain(self.over_max_cost_usd)} USD more than the cost limit")
        if self.unconfirmed or self.unknown:
            lines.append(
                f"{self.unconfirmed:,} attempts unconfirmed, {self.unknown:,} without a price: "
                f"at most {plain(self.at_risk_usd)} USD more"
            )
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Parked:
    """Why a run stopped before its end; the same command goes on from there.

    Attributes:
        exit_code: what the command line exits with.
        message: what happened.
        hint: what to do.
    """

    exit_code: int
    message: str
    hint: str

    def __str__(self) -> str:
        return f"parked: {self.message}\n{self.hint}"
