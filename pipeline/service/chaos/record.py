"""The record of a rehearsal: each request, its fault and what it was billed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain
from pathlib import Path
from typing import Any

from pipeline.answers import System
from pipeline.money import plain, total
from pipeline.service.accounts.database import connect
from pipeline.wording import aligned

FILE = "record.db"

VERSION = 1

SCHEMA = """
-- One request each, in the order of arrival. The times are seconds since 1970, money is text.
CREATE TABLE requests (
    request_id INTEGER PRIMARY KEY,
    arrived_at REAL NOT NULL,  -- at the service's door
    system TEXT NOT NULL,
    text_sha256 TEXT,          -- null: there was none in it
    worked_at REAL,            -- when the limit counted it, null: never
    billed_usd TEXT,           -- what the account was charged, null: nothing
    answered_at REAL,          -- when the answer was on its way or the connection dropped
    fault TEXT,
    status INTEGER,            -- null: no answer was sent
    stated_usd TEXT            -- the price that the answer states, null: none
)
"""


@dataclass(frozen=True, slots=True)
class Served:
    """One request as the service saw it; the schema explains the columns."""

    number: int
    arrived_at: float
    system: System
    digest: bytes | None
    worked_at: float | None
    billed_usd: Decimal | None
    answered_at: float | None
    fault: str | None
    status: int | None
    stated_usd: Decimal | None


class Record:
    """The record in the service's folder. It survives a crash of the process, not of the machine.

    Raises:
        SettingsError: the folder or the file cannot be used.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._connection = connect(folder, FILE, SCHEMA, VERSION)
        # The charge is already synced once per call.
        self._connection.execute("PRAGMA synchronous = NORMAL")

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def add(self, at: float, system: System, digest: bytes | None) -> int:
        """Record the arrival of a request; return its number."""
        cursor = self._connection.execute(
            "INSERT INTO requests (arrived_at, system, text_sha256) VALUES (?, ?, ?)",
            (at, system, digest.hex() if digest else None),
        )
        return cursor.lastrowid or 0

    def note(self, number: int, **values: float | str | Decimal | None) -> None:
        """Record what happens to a request, by column; the schema explains them."""
        columns = ", ".join(f"{column} = ?" for column in values)
        written = [
            plain(value) if isinstance(value, Decimal) else value for value in values.values()
        ]
        self._connection.execute(
            f"UPDATE requests SET {columns} WHERE request_id = ?",  # noqa: S608 - our own columns
            (*written, number),
        )

    def requests(self, after: int = 0) -> list[Served]:
        """Return the requests after a number, in order."""
        rows = self._connection.execute(
            "SELECT * FROM requests WHERE request_id > ? ORDER BY request_id", (after,)
        )
        return [_read_row(*row) for row in rows]

    def last(self) -> int:
        """Return the number of the last request; 0 before the first."""
        (number,) = self._connection.execute("SELECT max(request_id) FROM requests").fetchone()
        return number or 0


def _read_row(
    number: int, arrived_at: float, system: System, digest: str | None, *details: Any
) -> Served:
    worked_at, billed, at, fault, status, stated = details
    text = digest and bytes.fromhex(digest)
    usd, in_response = (money and Decimal(money) for money in (billed, stated))
    return Served(
        number, arrived_at, system, text or None, worked_at, usd, at, fault, status, in_response
    )


def outcomes(requests: Iterable[Served]) -> str:
    """Count requests by their faults, for people."""
    by_fault: defaultdict[str, list[Decimal | None]] = defaultdict(list)
    for request in requests:
        by_fault[request.fault or "no fault"].append(request.billed_usd)
    by_name = dict(sorted(by_fault.items())) | {"all": [*chain.from_iterable(by_fault.values())]}
    rows = []
    for name, usd in by_name.items():
        billed = [amount for amount in usd if amount is not None]
        rows.append([name, f"{len(usd):,}", f"{len(billed):,}", plain(total(billed))])
    return "\n".join(aligned(["", "requests", "billed", "USD"], rows, 3))
