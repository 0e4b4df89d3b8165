"""The result of a purchase: what it has cost, and why it stopped before its end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from pipeline.errors import ParkedError, SettingsError
from pipeline.money import ZERO, plain, total
from pipeline.quoting import how_many

__all__ = ["IN_MEMORY", "CostLimitReached", "Paid", "Parked"]

IN_MEMORY = "in memory"
"""What a job notes in the ledger as the place of a table that is in no file."""


@dataclass(frozen=True, slots=True)
class Paid:
    """What a job has paid, over all its runs.

    Attributes:
        attempts: requests sent.
        confirmed_usd: the sum of the known prices.
        unattributed_usd: the part of it for texts that the table no longer has.
        unconfirmed: attempts whose answer was lost; they may have been billed.
        unknown: attempts whose response stated no price.
        at_risk_usd: the most that the unconfirmed and the unknown may have cost.
        over_max_cost_usd: by how much the confirmed costs exceed the run's limit.
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

    @classmethod
    def together(cls, each: Sequence[Paid]) -> Paid | None:
        """Return what several jobs have paid; None without a job."""
        if not each:
            return None
        return cls(
            attempts=sum(paid.attempts for paid in each),
            confirmed_usd=total(paid.confirmed_usd for paid in each),
            unattributed_usd=total(paid.unattributed_usd for paid in each),
            unconfirmed=sum(paid.unconfirmed for paid in each),
            unknown=sum(paid.unknown for paid in each),
            at_risk_usd=total(paid.at_risk_usd for paid in each),
            over_max_cost_usd=total(paid.over_max_cost_usd for paid in each),
        )

    @property
    def so_far(self) -> str:
        """What a job has paid, for one that ends without a summary."""
        more = f", and perhaps {plain(self.at_risk_usd)} USD more" if self.at_risk_usd else ""
        return f"This job has paid {plain(self.confirmed_usd)} USD so far{more}."

    def __str__(self) -> str:
        attempts, unconfirmed = (
            how_many(number, "attempt") for number in (self.attempts, self.unconfirmed)
        )
        lines = [f"paid by this job: {plain(self.confirmed_usd)} USD, {attempts}"]
        if self.unattributed_usd:
            lines.append(f"for texts no longer in the table: {plain(self.unattributed_usd)} USD")
        if self.over_max_cost_usd:
            lines.append(f"over the cost limit: {plain(self.over_max_cost_usd)} USD")
        if self.unconfirmed or self.unknown:
            lines.append(
                f"{unconfirmed} unconfirmed, {self.unknown:,} without a price: "
                f"at most {plain(self.at_risk_usd)} USD more"
            )
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Parked:
    """Why a run stopped before its end; the same command continues the job.

    Attributes:
        exit_code: the exit code of the command line.
        message: what happened.
        hint: what to do.
    """

    exit_code: int
    message: str
    hint: str

    @property
    def is_declined(self) -> bool:
        """Whether a person was asked, and did not want to buy."""
        return self.exit_code == SettingsError.exit_code

    def __str__(self) -> str:
        head = "" if self.message.startswith("Stopped") else "stopped, can be continued: "
        return f"{head}{self.message}\n{self.hint}"

    def reworded(self, words: Callable[[str], str]) -> Parked:
        """Return it in other words, such as those of `pipeline.python_messages`."""
        return Parked(self.exit_code, words(self.message), words(self.hint))

    def as_exception(self, cost_usd: Decimal, advice: str = "") -> BaseException:
        """Return what a Python function raises: an interrupt, or an error that says why it stopped.

        Args:
            cost_usd: what the job has paid, US dollars.
            advice: a sentence to add to the hint.
        """
        if self.exit_code == 130:
            return KeyboardInterrupt(f"{plain(cost_usd)} USD paid so far. {self.hint}")
        if self.exit_code > 128:
            return SystemExit(self.exit_code)
        hint = f"{self.hint} {advice}".rstrip()
        return ParkedError(self.message, hint, self.exit_code, cost_usd)


@dataclass(frozen=True, slots=True)
class CostLimitReached(Parked):
    """A run stopped because its job would cost more than its limit."""
