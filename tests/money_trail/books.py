"""The three books of a purchase, each read on its own: the service's, the ledger, the output."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from pipeline.answers import System
from pipeline.service.accounts import Accounts, Entry
from pipeline.service.chaos.record import Record, Served

ENDED = frozenset({"answered", "refused", "unreadable"})
"""States in which a call is answered for good."""

ATTEMPTS = """
    SELECT attempt_id, job_id, system, digest, sent_at, settled_at, state, error, cost_usd,
    reserved_usd FROM attempts ORDER BY attempt_id
"""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt as the ledger has it; times are seconds since 1970, amounts US dollars.

    ``settled_at`` is None while it is under way, and ``cost_usd`` if no price was stated.
    """

    number: int
    job: int
    system: System
    digest: bytes
    sent_at: float
    settled_at: float | None
    state: str
    error: str | None
    cost_usd: Decimal | None
    reserved_usd: Decimal

    @property
    def call(self) -> tuple[System, bytes]:
        """The question that it asks."""
        return self.system, self.digest

    @property
    def ended(self) -> bool:
        """Whether it answers its call for good."""
        return self.state in ENDED

    @property
    def unconfirmed(self) -> bool:
        """Whether it may have been billed without an answer."""
        return self.state in ("sent", "unconfirmed")

    @property
    def unknown(self) -> bool:
        """Whether it ended its call without stating a price."""
        return self.ended and self.cost_usd is None


@dataclass(frozen=True, slots=True)
class Service:
    """The service's books: its record of requests, and what its accounts were charged."""

    requests: list[Served]
    charges: list[Entry]


@dataclass(frozen=True, slots=True)
class Output:
    """A table that came out: its rows as text, and the summary in its manifest."""

    rows: list[dict[str, str]]
    summary: Mapping[str, Any]


def read_attempts(ledger: Path) -> list[Attempt]:
    """Read a ledger's attempts; it is not changed."""
    with _reading(ledger) as connection:
        return [
            Attempt(*[*facts, cost and Decimal(cost), Decimal(reserved)])
            for *facts, cost, reserved in connection.execute(ATTEMPTS)
        ]


def read_jobs(ledger: Path) -> list[int]:
    """Read the numbers of a ledger's jobs, the first first."""
    with _reading(ledger) as connection:
        return [job for (job,) in connection.execute("SELECT job_id FROM jobs ORDER BY job_id")]


def read_service(folder: Path) -> Service:
    """Read the books in the folder of a service with faults."""
    with closing(Record(folder)) as record, closing(Accounts(folder)) as accounts:
        return Service(record.requests(), accounts.statement.charges())


def read_output(path: Path) -> Output:
    """Read a CSV output and the manifest beside it."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    manifest = json.loads(path.with_name(f"{path.name}.manifest.json").read_text("utf-8"))
    return Output(rows, manifest["summary"])


@contextmanager
def _reading(file: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        yield connection
