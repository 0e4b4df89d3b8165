"""The true record: what reached the service when, what went wrong with it, what was billed."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from pipeline.answers import System
from pipeline.money import plain
from pipeline.service.accounts.database import connect

__all__ = ["FILE", "Record", "Served"]

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
    stated_usd TEXT,           -- the price that the answer states, null: none
    closed_at REAL             -- when its connection was closed behind the answer
)
"""


@dataclass(frozen=True, slots=True)
class Served:
    """One request as the service saw it; times are seconds since 1970.

    Attributes:
        number: its place in the order of arrival.
        arrived_at: when it was there.
        system: what it asked about.
        digest: the SHA-256 of its text; None if there was none.
        worked_at: when it was worked on, and so counted for the limit; None if it never was.
        billed_usd: what the account was charged; None if it was not.
        answered_at: just before the answer left or the connection was dropped; None before.
        fault: what went wrong, as in the script; None if nothing did.
        status: the status that was sent; None if no answer was.
        stated_usd: the price that the answer states in US dollars; None if it states none.
        closed_at: when its connection was closed behind the answer; None if it was not.
    """

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
    closed_at: float | None


class Record:
    """The record in the service's folder; it outlives the process, not a crash of the machine.

    Args:
        folder: where the file is; it is made if it is not there.
        clock: gives seconds since 1970.

    Attributes:
        path: the file.

    Raises:
        SettingsError: the folder or the file cannot be used.
    """

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self.path = folder / FILE
        self._connection = connect(folder, FILE, SCHEMA, VERSION)
        self._connection.execute("PRAGMA synchronous = NORMAL")  # one sync a call is enough
        self._clock = clock

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def arrived(self, at: float, system: System, digest: bytes | None) -> int:
        """Write a request down; return its number."""
        values = (at, system, digest.hex() if digest else None)
        cursor = self._write(
            "INSERT INTO requests (arrived_at, system, text_sha256) VALUES (?, ?, ?)", *values
        )
        return cursor.lastrowid or 0

    def works(self, number: int) -> None:
        """Write down that a request is now being worked on."""
        self._set(number, "worked_at = ?", self._clock())

    def billed(self, number: int, usd: Decimal) -> None:
        """Write down what the account was charged."""
        self._set(number, "billed_usd = ?", plain(usd))

    def answered(
        self, number: int, fault: str | None, status: int | None, stated: Decimal | None
    ) -> None:
        """Write down what is now being sent, if anything is."""
        usd = None if stated is None else plain(stated)
        values = (self._clock(), fault, status, usd)
        self._set(number, "answered_at = ?, fault = ?, status = ?, stated_usd = ?", *values)

    def closed(self, number: int) -> None:
        """Write down that the connection was closed behind the answer."""
        self._set(number, "closed_at = ?", self._clock())

    def requests(self, after: int = 0) -> list[Served]:
        """Return the requests behind a number, the first first."""
        rows = self._connection.execute(
            "SELECT * FROM requests WHERE request_id > ? ORDER BY request_id", (after,)
        )
        return [_served(*row) for row in rows]

    def last(self) -> int:
        """Return the number of the last request; 0 before the first."""
        (number,) = self._connection.execute("SELECT max(request_id) FROM requests").fetchone()
        return number or 0

    def _set(self, number: int, columns: str, *values: object) -> None:
        self._write(
            f"UPDATE requests SET {columns} WHERE request_id = ?",  # noqa: S608 - our own columns
            *values,
            number,
        )

    def _write(self, statement: str, *values: object) -> sqlite3.Cursor:
        return self._connection.execute(statement, values)


def _served(
    number: int,
    arrived_at: float,
    system: System,
    digest: str | None,
    worked_at: float | None,
    billed: str | None,
    answered_at: float | None,
    fault: str | None,
    status: int | None,
    stated: str | None,
    closed_at: float | None,
) -> Served:
    return Served(
        number,
        arrived_at,
        system,
        None if digest is None else bytes.fromhex(digest),
        worked_at,
        None if billed is None else Decimal(billed),
        answered_at,
        fault,
        status,
        None if stated is None else Decimal(stated),
        closed_at,
    )
