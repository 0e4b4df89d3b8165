"""Selects attempts in the ledger, to list them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal, TypeAlias

from pipeline.answers import System
from pipeline.paid.ledger.calls import State
from pipeline.paid.ledger.snapshot import Snapshot
from pipeline.paid.ledger.totals import amount

__all__ = ["STATES", "Attempt", "Picked", "Wanted", "attempts"]

Wanted: TypeAlias = State | Literal["failed"]
"""A state; or failed: every attempt that failed and was the last one of its call."""

STATES: tuple[Wanted, ...] = (
    "failed",
    "unconfirmed",
    "billed",
    "answered",
    "pruned",
    "refused",
    "unreadable",
    "free",
    "sent",
)

ATTEMPTS = """
    SELECT attempt_id, job_id, endpoint, system, digest, account, sent_at, settled_at,
        state, error, status, cost_usd, reserved_usd
    FROM attempts JOIN jobs USING (job_id)
"""

FAILED = """
    state IN ('refused', 'unreadable', 'free') AND NOT EXISTS (
        SELECT 1 FROM attempts AS later JOIN jobs AS theirs USING (job_id)
        WHERE later.digest = attempts.digest AND later.system = attempts.system
        AND theirs.endpoint = jobs.endpoint AND later.attempt_id > attempts.attempt_id
    )
"""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request.

    Attributes:
        number: its number in the ledger.
        job: the number of its job.
        base_url: the canonical base URL.
        system: the system asked about.
        digest: the SHA-256 of the text sent.
        key_fingerprint: names the key.
        sent_at: when it was sent, seconds since 1970.
        settled_at: when its end was recorded; None while it is under way.
        state: its state.
        error: the error type; None for an answer.
        status: the HTTP status; None without a response.
        cost_usd: its cost, US dollars; None if unknown, or nothing.
        reserved_usd: the most that it was expected to cost.
    """

    number: int
    job: int
    base_url: str
    system: System
    digest: bytes
    key_fingerprint: str
    sent_at: float
    settled_at: float | None
    state: State
    error: str | None
    status: int | None
    cost_usd: Decimal | None
    reserved_usd: Decimal


@dataclass(frozen=True, slots=True)
class Picked:
    """Which attempts to list; an empty or None criterion selects all.

    Attributes:
        states: their states.
        systems: the systems asked about.
        since: the earliest time of sending, seconds since 1970.
    """

    states: Sequence[Wanted] = ()
    systems: Sequence[System] = ()
    since: float | None = None

    def condition(self) -> tuple[str, list[Any]]:
        """Return the criteria as SQL, with the values of its parameters."""
        parts: list[str] = []
        values: list[Any] = []
        if self.systems:
            parts.append(f"system IN ({_marks(self.systems)})")
            values += self.systems
        if self.since is not None:
            parts.append("sent_at >= ?")
            values.append(self.since)
        if self.states:
            plain = [state for state in self.states if state != "failed"]
            any_of = [f"state IN ({_marks(plain)})"] if plain else []
            if "failed" in self.states:
                any_of.append(FAILED)
            parts.append(f"({' OR '.join(any_of)})")
            values += plain
        return " AND ".join(parts) or "TRUE", values


def attempts(snapshot: Snapshot, picked: Picked, most: int) -> Iterator[Attempt]:
    """Yield the picked attempts, the latest first, at most ``most`` of them."""
    condition, values = picked.condition()
    query = f"{ATTEMPTS} WHERE {condition} ORDER BY attempt_id DESC LIMIT ?"
    for *facts, cost, reserved in snapshot.rows(query, *values, most):
        facts += [None if cost is None else amount(cost), amount(reserved)]
        yield Attempt(*facts)


def _marks(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))
