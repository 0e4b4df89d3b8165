"""What a job sees of a purchase: what it will cost, what was paid, and why it stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from pipeline.answers import Matcher
from pipeline.decisions.decisions import NO_DECISIONS, Decisions
from pipeline.errors import ParkedError, SettingsError
from pipeline.files.paths import AnyPath, resolved
from pipeline.money import ZERO, plain, times, total
from pipeline.rate import Rate, duration
from pipeline.settings import Settings
from pipeline.wording import Words, how_many, in_python

if TYPE_CHECKING:  # a command that prints help needs no table formats
    from pipeline.tables.table import Batch

Period: TypeAlias = Literal["day", "month"]

Limited: TypeAlias = Period | Literal["job", "files"]
"""What a cost limit is for: ``--max-cost`` is for a job, or for all files of a run together."""

WORDS: Mapping[Limited, str] = {
    "day": "left today (UTC)",
    "month": "left this month (UTC)",
    "job": "left for this job",
    "files": "left for all files",
}


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a purchase will take, before any money is spent; by default, nothing is bought.

    Attributes:
        distinct: the distinct calls of the table.
        to_buy: the calls that the ledger cannot answer yet.
        low_usd: their cost at the lowest price so far, or else the typical one; 0 without a key.
        high_usd: their cost at the highest price so far, or the typical one if that is higher. A
            cost limit of this much is enough, unless prices rise or answers are lost.
        seconds: how long they take at the limit, including the pause.
        held: calls that are not bought again because their answers were lost, or errors were paid.
        pause: for how many seconds nothing is sent at first, because the service asked to wait.
        left: what the cost limits leave, US dollars: those of the day and the month to all jobs
            with the key, that of the job to this one, or to those of all files.
        allowed: the rate limit in words; "" if there is none to speak of.
    """

    distinct: int = 0
    to_buy: int = 0
    low_usd: Decimal = ZERO
    high_usd: Decimal = ZERO
    seconds: float = 0.0
    held: int = 0
    pause: float = 0.0
    left: Mapping[Limited, Decimal] = field(default_factory=dict)
    allowed: str = ""

    @property
    def owned(self) -> int:
        """The calls that the ledger answers."""
        return self.distinct - self.to_buy - self.held

    @property
    def calls(self) -> str:
        """The calls, what they cost and how long they take, in words."""
        if not self.distinct:
            return "nothing to buy: 0 USD"
        held = f"{self.held:,} held, lost or paid without an answer, " if self.held else ""
        calls = f"{how_many(self.distinct, 'distinct call')}, {self.owned:,} owned, {held}"
        return f"{calls}{self.to_buy:,} to buy: {self.takes}"

    @property
    def takes(self) -> str:
        """What the calls cost and how long they take, in words."""
        low, high = plain(self.low_usd), plain(self.high_usd)
        parts = [f"{high} USD" if low == high else f"{low} to {high} USD"]
        if self.seconds >= 1:  # a limit that is not reached takes no time
            parts.append(duration(self.seconds))
        if self.pause:
            parts.append(f"including a pause of {duration(self.pause)} that the service asked for")
        return ", ".join(parts)

    @property
    def fits(self) -> bool:
        """Whether the cost limits leave the higher figure, so that a run would not stop there."""
        return self.high_usd <= self._tightest

    @property
    def _tightest(self) -> Decimal:
        return min(self.left.values(), default=self.high_usd)

    @property
    def limits(self) -> str:
        """What the cost limits leave, and whether a run would stop there, in words; or ""."""
        tightest = self._tightest
        parts = [
            f"{plain(usd)} USD {WORDS[limited]}"
            + (f", {self._enough_for(usd)}" if usd == tightest < self.high_usd else "")
            for limited, usd in self.left.items()
            if limited != "job" or usd < self.high_usd
        ]
        return "; ".join(parts)

    def _enough_for(self, usd: Decimal) -> str:
        """Say how many calls an amount buys. Each is reserved at the highest price."""
        # Fractions, because quotients of amounts are not exact.
        all_calls, low, high = (
            Fraction(amount) for amount in (times(usd, self.to_buy), self.low_usd, self.high_usd)
        )
        least = int(all_calls // high)
        if not least:
            return "not enough for one call: the run would stop at once"
        most = 1 + int((all_calls - high) // low) if low else self.to_buy
        if most >= self.to_buy:
            return f"enough for {least:,} calls, perhaps for all: the run may stop there"
        calls = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        return f"enough for {calls} of these calls: the run would stop there"

    def __str__(self) -> str:
        allowed = f" ({self.allowed})" if self.allowed else ""
        return "; ".join(filter(None, (f"{self.calls}{allowed}", self.limits)))

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON types; money as text."""
        return {
            "distinct_calls": self.distinct,
            "calls_to_buy": self.to_buy,
            "calls_held": self.held,
            "low_usd": plain(self.low_usd),
            "high_usd": plain(self.high_usd),
            "seconds": round(self.seconds, 1),
            "pause_seconds": round(self.pause, 1),
            "left_today_usd": self._left("day"),
            "left_this_month_usd": self._left("month"),
            "left_of_max_cost_usd": self._left("job", "files"),
            "fits_limits": self.fits,
        }

    def _left(self, *limited: Limited) -> str | None:
        return next((plain(self.left[limit]) for limit in limited if limit in self.left), None)

    def then(self, later: Estimate) -> Estimate:
        """Return the estimate of this purchase and a later one, under the same limits."""
        return Estimate(
            self.distinct + later.distinct,
            self.to_buy + later.to_buy,
            total([self.low_usd, later.low_usd]),
            total([self.high_usd, later.high_usd]),
            self.seconds + later.seconds - min(self.pause, later.pause),
            self.held + later.held,
            max(self.pause, later.pause),
            later.left,
            later.allowed,
        )

    def at_rate(self, limit: Rate | None) -> Estimate:
        """Return the estimate of several purchases, with the time that all calls together take.

        One by one, each of them may fit into the window of the rate limit.
        """
        if limit is None or self.to_buy <= limit.slots:
            return self
        seconds = self.pause + self.to_buy / limit.slots * limit.hold
        return replace(self, seconds=max(self.seconds, seconds))


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
    def together(cls, jobs: Sequence[Paid]) -> Paid | None:
        """Return what several jobs have paid; None without a job."""
        if not jobs:
            return None
        return cls(
            attempts=sum(paid.attempts for paid in jobs),
            confirmed_usd=total(paid.confirmed_usd for paid in jobs),
            unattributed_usd=total(paid.unattributed_usd for paid in jobs),
            unconfirmed=sum(paid.unconfirmed for paid in jobs),
            unknown=sum(paid.unknown for paid in jobs),
            at_risk_usd=total(paid.at_risk_usd for paid in jobs),
            over_max_cost_usd=total(paid.over_max_cost_usd for paid in jobs),
        )

    @property
    def so_far(self) -> str:
        """What a job has paid, for one that ends without a summary."""
        at_risk = f", and perhaps {plain(self.at_risk_usd)} USD more" if self.at_risk_usd else ""
        return f"This job has paid {plain(self.confirmed_usd)} USD so far{at_risk}."

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

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", Words(self.message))
        object.__setattr__(self, "hint", Words(self.hint))

    @property
    def is_declined(self) -> bool:
        """Whether a person was asked, and did not want to buy."""
        return self.exit_code == SettingsError.exit_code

    def __str__(self) -> str:
        head = "" if self.message.startswith("Stopped") else "stopped, can be continued: "
        return f"{head}{self.message}\n{self.hint}"

    def in_python(self) -> Parked:
        """Return it as Python words it."""
        return Parked(self.exit_code, in_python(self.message), in_python(self.hint))

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


class Purchase:
    """What the stages of a job need of the purchase of its answers; by itself, it buys nothing.

    Attributes:
        matcher: gives the answers, once they are bought.
        decisions: what people decided about texts; it replaces answers.
        base_url: where it buys; None if nothing is bought.
        ledger: the ledger of what is bought; None if nothing is.
    """

    matcher: Matcher
    decisions: Decisions
    base_url: str | None = None
    ledger: Path | None = None

    def record(self, batches: Iterable[Batch]) -> Iterable[Batch]:
        """Yield a table's batches, and record the calls that they need."""
        return batches

    def estimate(self) -> Estimate:
        """Estimate what is to be bought, once the whole table is recorded."""
        return Estimate()

    def describe(self, source: str, output: str, rows: int) -> None:
        """Note the job's table for the list of open jobs."""

    def buy(
        self, batches: Iterable[Batch], estimate: Estimate, begun: Callable[[], object]
    ) -> Parked | None:
        """Buy the missing answers; return why that stopped before its end, if it did."""
        raise NotImplementedError

    def paid(self) -> Paid | None:
        """Return what the job has paid so far; None if nothing is bought."""
        return None

    def ledger_entry(self) -> Mapping[str, Any] | None:
        """Return what the output's manifest says of the ledger, by which a later run misses it."""
        return None

    def parked_entry(self) -> Mapping[str, Any] | None:
        """Return the same for a run that ends before its output is written, if it bought any."""
        return None

    def close_job(self) -> None:
        """Note that the job's output is in place."""


@dataclass
class NoPurchase(Purchase):
    """Buys nothing: the matcher answers for free, such as the embedded engine."""

    matcher: Matcher
    decisions: Decisions = NO_DECISIONS


class Terms(Protocol):
    """What a job knows of the paid service, and of the terms of buying from it."""

    @property
    def endpoint(self) -> str:
        """What its jobs belong to: the address, with the language model."""

    @property
    def ledger(self) -> Path:
        """The file of answers and payments."""

    @property
    def max_cost(self) -> Decimal | None:
        """The maximum cost of a job, US dollars."""

    @property
    def max_duration(self) -> timedelta | None:
        """How long a run may buy."""

    @property
    def retry_failed(self) -> bool:
        """Whether calls that failed for good are bought again."""


class Buyer(Protocol):
    """Opens the purchases of jobs, all from one paid service on the same terms."""

    @property
    def service(self) -> Terms:
        """The paid service, with the terms of buying from it."""

    def open(
        self,
        settings: Settings,
        identity: str,
        decisions: Decisions = NO_DECISIONS,
        earlier: Iterable[tuple[AnyPath, Mapping[str, Any]]] = (),
        plan_only: bool = False,
    ) -> AbstractContextManager[Purchase]:
        """Open the purchase of a job; ``earlier`` has the manifests of the output to replace."""

    def with_limits(self, max_cost: Decimal | None, max_duration: timedelta | None) -> Buyer:
        """Return a buyer that may spend as much money and time."""

    def spent_on(self, identity: str) -> Decimal:
        """Return what an open job has cost and may have cost, US dollars."""


def identity_of_files(settings: Settings, source: AnyPath, output: AnyPath | None) -> str:
    """Return the identity of a job on files or objects, whatever is in them.

    Args:
        settings: the job's settings.
        source: the input.
        output: the output; None for one in memory.
    """
    where = (resolved(source), output and resolved(output))
    return _digest((*where, *_what_is_asked(settings)))


def identity_of_contents(settings: Settings, batches: Iterable[Batch]) -> str:
    """Return the identity of a job on a table in memory, which its texts in order determine."""
    texts = sha256()
    for batch in batches:
        for text in batch.texts:
            texts.update(sha256(text.encode()).digest())
    return _digest((texts.hexdigest(), *_what_is_asked(settings)))


def _what_is_asked(settings: Settings) -> tuple[object, ...]:
    return settings.systems, settings.text_columns, settings.limit_rows


def _digest(what: tuple[object, ...]) -> str:
    return sha256(repr(what).encode()).hexdigest()
