"""Accounts with their keys, balances and charges."""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from threading import Lock

from pipeline.answers import System
from pipeline.money import ZERO, plain, total
from pipeline.service.database import connect, transaction

__all__ = ["STARTING_BALANCE", "Account", "Accounts", "Charge"]

STARTING_BALANCE = Decimal("5.00")
"""What the interface gives each new account, US dollars."""

KEY_PREFIX = "tp_"
"""Lets people and secret scanners tell a key when they see one."""


@dataclass(frozen=True, slots=True)
class Account:
    """A new account.

    Attributes:
        account_id: its number.
        key: its API key; it is kept nowhere and cannot be shown again.
    """

    account_id: int
    key: str


@dataclass(frozen=True, slots=True)
class Charge:
    """One successful call.

    Attributes:
        charged_at: when, seconds since 1970.
        account_id: who paid; None for a demo call, which nobody pays.
        system: what was asked about.
        price_usd: the price, US dollars.
    """

    charged_at: float
    account_id: int | None
    system: System
    price_usd: Decimal


class Accounts:
    """The accounts in one folder; any thread may use it, and several processes at once.

    Args:
        folder: where the file is; it is made if it is not there.
        clock: gives seconds since 1970.

    Raises:
        SettingsError: the folder or the file cannot be used.
    """

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self._connection = connect(folder)
        self._clock = clock
        self._lock = Lock()

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._connection.close()

    def open(self, balance: Decimal = STARTING_BALANCE) -> Account:
        """Open an account with a balance and a key."""
        key = KEY_PREFIX + secrets.token_urlsafe(32)
        now = self._clock()
        with self._lock, transaction(self._connection):
            cursor = self._connection.execute(
                "INSERT INTO accounts (opened_at, balance_usd) VALUES (?, ?)",
                (now, plain(balance)),
            )
            account = int(cursor.lastrowid or 0)
            self._connection.execute(
                "INSERT INTO api_keys (key_hash, account_id, made_at) VALUES (?, ?, ?)",
                (_hash(key), account, now),
            )
        return Account(account, key)

    def revoke(self, key: str) -> None:
        """Make a key nobody's from now on."""
        with self._lock:
            self._connection.execute(
                "UPDATE api_keys SET revoked_at = ? WHERE key_hash = ? AND revoked_at IS NULL",
                (self._clock(), _hash(key)),
            )

    def of_key(self, key: str) -> int | None:
        """Return the account that a key belongs to; None if it is unknown or revoked."""
        with self._lock:
            found = self._connection.execute(
                "SELECT account_id FROM api_keys WHERE key_hash = ? AND revoked_at IS NULL",
                (_hash(key),),
            ).fetchone()
        return None if found is None else int(found[0])

    def balance(self, account: int) -> Decimal:
        """Return what an account has left, US dollars."""
        with self._lock:
            return _balance(self._connection, account)

    def charge(self, account: int | None, system: System, price: Decimal) -> bool:
        """Take a price from a balance and write it down, both or neither.

        Args:
            account: who pays; None for a demo call, which is only written down.
            system: what was asked about.
            price: US dollars.

        Returns:
            Whether the balance covered it; if not, nothing has happened.
        """
        with self._lock, transaction(self._connection):
            if account is not None:
                left = total([_balance(self._connection, account), -price])
                if left < ZERO:
                    return False
                self._connection.execute(
                    "UPDATE accounts SET balance_usd = ? WHERE account_id = ?",
                    (plain(left), account),
                )
            self._connection.execute(
                "INSERT INTO charges (charged_at, account_id, system, price_usd) "
                "VALUES (?, ?, ?, ?)",
                (self._clock(), account, system, plain(price)),
            )
            return True

    def charges(self) -> list[Charge]:
        """Return every charge, the first first."""
        with self._lock:
            rows = self._connection.execute(
                "SELECT charged_at, account_id, system, price_usd FROM charges ORDER BY charge_id"
            ).fetchall()
        return [Charge(at, account, system, Decimal(usd)) for at, account, system, usd in rows]


def _balance(connection: sqlite3.Connection, account: int) -> Decimal:
    (usd,) = connection.execute(
        "SELECT balance_usd FROM accounts WHERE account_id = ?", (account,)
    ).fetchone()
    return Decimal(usd)


def _hash(key: str) -> bytes:
    return sha256(key.encode()).digest()
