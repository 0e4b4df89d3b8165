"""What happens to balances: every change is an entry, and both are written together."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Literal

from pipeline.answers import System
from pipeline.errors import SettingsError
from pipeline.money import ZERO, plain, total
from pipeline.service.accounts.charging import Due, charge_all
from pipeline.service.accounts.database import Database

__all__ = ["DailyUse", "Entry", "Statement", "check_amount", "insert_opening"]

Kind = Literal["opening", "top-up", "charge"]

MOST_USD = Decimal(1_000_000)
"""The largest top-up: more is a slip of the finger."""

FINEST_USD = Decimal("0.0000001")
"""Prices have no more places either."""

LONGEST_NOTE = 200

ENTRIES_AT_ONCE = 1000
"""Read together: few, so that nobody waits long for the connection."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One change of a balance.

    Attributes:
        entry_id: its number; later entries have larger ones.
        account_id: whose balance.
        at: when, seconds since 1970.
        kind: "opening", "top-up" or "charge".
        amount_usd: the change, US dollars; charges are negative.
        balance_usd: what was there after it.
        system: what a charged call asked about.
        key_id: the key that it came with; None for a page's.
        note: what the administrator wrote.
    """

    entry_id: int
    account_id: int
    at: float
    kind: Kind
    amount_usd: Decimal
    balance_usd: Decimal
    system: System | None
    key_id: int | None
    note: str

    @property
    def price_usd(self) -> Decimal:
        """What was paid, US dollars."""
        return -self.amount_usd


@dataclass(frozen=True, slots=True)
class DailyUse:
    """What an account asked one system on one day.

    Attributes:
        day: the day, UTC.
        system: the system.
        calls: how many calls were charged.
        usd: what they cost together, US dollars.
    """

    day: date
    system: System
    calls: int
    usd: Decimal


class Statement:
    """The entries in one database.

    Args:
        database: where they are.
        clock: gives seconds since 1970.
    """

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock

    def charge(self, dues: Sequence[Due]) -> list[bool]:
        """Take prices from balances, one after the other, in one transaction.

        Returns:
            For each whether the balance covered it; if not, nothing was taken.
        """
        with self._database.writing() as connection:
            return charge_all(connection, dues, self._clock())

    def top_up(self, account: int, usd: Decimal, note: str = "") -> Decimal:
        """Add to a balance; return the new one.

        Args:
            account: whose.
            usd: how much, US dollars; more than 0, and 7 decimal places at most.
            note: what it is for.

        Raises:
            SettingsError: the amount or the note is not as it may be.
        """
        check_amount(usd)
        note = _checked(note)
        with self._database.writing() as connection:
            (left,) = connection.execute(
                "SELECT balance_usd FROM accounts WHERE account_id = ?", (account,)
            ).fetchone()
            balance = total([Decimal(left), usd])
            connection.execute(
                "UPDATE accounts SET balance_usd = ? WHERE account_id = ?",
                (plain(balance), account),
            )
            values = (account, self._clock(), "top-up", plain(usd), plain(balance), note)
            _insert(connection, *values)
            return balance

    def entries(
        self, account: int, most: int = 50, before: int | None = None, kind: Kind | None = None
    ) -> list[Entry]:
        """Return entries of an account, the newest first.

        Args:
            account: the account.
            most: the largest number of entries returned.
            before: only entries with a smaller number than this; None for all.
            kind: only entries of this kind; None for all.
        """
        rows = self._database.read(
            "SELECT * FROM entries WHERE account_id = ? AND entry_id < ? "
            "AND kind = ifnull(?, kind) ORDER BY entry_id DESC LIMIT ?",
            account,
            1 << 62 if before is None else before,
            kind,
            most,
        )
        return [_entry(*row) for row in rows]

    def each(self, account: int) -> Iterator[Entry]:
        """Yield all entries of an account, the oldest first, up to the last there is now."""
        newest = self.entries(account, 1)
        done, last = 0, newest[0].entry_id if newest else 0
        while done < last:
            rows = self._database.read(
                "SELECT * FROM entries WHERE account_id = ? AND entry_id > ? AND entry_id <= ? "
                "ORDER BY entry_id LIMIT ?",
                account,
                done,
                last,
                ENTRIES_AT_ONCE,
            )
            yield from (_entry(*row) for row in rows)
            done = rows[-1][0]

    def charges(self) -> list[Entry]:
        """Return the charges of all accounts, the oldest first."""
        rows = self._database.read("SELECT * FROM entries WHERE kind = 'charge' ORDER BY entry_id")
        return [_entry(*row) for row in rows]

    def usage(self, account: int, days: int = 30) -> list[DailyUse]:
        """Return what an account used on each of the last days, the oldest first.

        Days and systems without calls are left out.
        """
        today = datetime.fromtimestamp(self._clock(), UTC).date()
        rows = self._database.read(
            "SELECT day, system, calls, usd FROM daily_use WHERE account_id = ? AND day > ? "
            "ORDER BY day, system",
            account,
            (today - timedelta(days)).isoformat(),
        )
        return [
            DailyUse(date.fromisoformat(day), system, calls, Decimal(usd))
            for day, system, calls, usd in rows
        ]


def insert_opening(
    connection: sqlite3.Connection, account: int, balance: Decimal, now: float
) -> None:
    """Write down what an account opens with, in a transaction that is under way."""
    _insert(connection, account, now, "opening", plain(balance), plain(balance), "")


def _insert(connection: sqlite3.Connection, *values: object) -> None:
    connection.execute(
        "INSERT INTO entries (account_id, at, kind, amount_usd, balance_usd, note) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        values,
    )


def check_amount(usd: Decimal) -> None:
    """Refuse an amount that is none to open an account with or to top it up by.

    Raises:
        SettingsError: it is not above 0, absurdly large, or finer than any price.
    """
    if not usd.is_finite() or not ZERO < usd <= MOST_USD:
        raise SettingsError(
            f"{usd:f} USD cannot be added to a balance.",
            f"Name an amount above 0 and up to {MOST_USD:,} USD.",
        )
    if usd % FINEST_USD:
        raise SettingsError(
            f"{usd:f} USD is finer than any price.", "Round it to 7 decimal places."
        )


def _checked(note: str) -> str:
    note = " ".join(note.split())
    if len(note) > LONGEST_NOTE:
        raise SettingsError(
            f"The note has {len(note):,} characters.", f"Shorten it to {LONGEST_NOTE}."
        )
    return note


def _entry(
    entry_id: int,
    account: int,
    at: float,
    kind: Kind,
    amount: str,
    balance: str,
    system: System | None,
    key_id: int | None,
    note: str,
) -> Entry:
    amounts = Decimal(amount), Decimal(balance)
    return Entry(entry_id, account, at, kind, *amounts, system, key_id, note)
