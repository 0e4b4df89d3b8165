"""The API keys of accounts: shown once when they are made, revoked and replaced."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

from pipeline.errors import SettingsError
from pipeline.service.accounts.database import Database
from pipeline.service.accounts.secret import hashed, make_secret

__all__ = ["ApiKey", "Holder", "Keys", "NewKey", "insert_key"]

PREFIX = "tp_"
"""Lets people and secret scanners tell a key when they see one."""

HINT = len(PREFIX) + 4
"""So many characters of a key are kept, for people with several."""

LONGEST_NAME = 100

MOST_KEYS = 100
"""In use at once in one account."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Who a request counts for and pays for it.

    Attributes:
        account_id: the account.
        key_id: the key that the request came with; None for a page's.
    """

    account_id: int
    key_id: int | None = None


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key just made; it is kept nowhere and cannot be shown again.

    Attributes:
        key_id: its number.
        key: the key itself.
    """

    key_id: int
    key: str


@dataclass(frozen=True, slots=True)
class ApiKey:
    """What is known of a key; times are seconds since 1970.

    Attributes:
        key_id: its number.
        name: what its owner calls it.
        hint: its first characters.
        made_at: when it was made.
        used_at: when a call with it was last charged; None: never.
        revoked_at: when it was revoked; None: it is in use.
    """

    key_id: int
    name: str
    hint: str
    made_at: float
    used_at: float | None
    revoked_at: float | None


class Keys:
    """The keys in one database.

    Args:
        database: where they are.
        clock: gives seconds since 1970.
    """

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock

    def make(self, account: int, name: str) -> NewKey:
        """Make a key.

        Raises:
            SettingsError: the name is too long, or there are too many keys.
        """
        name = _checked(name)
        with self._database.writing() as connection:
            (count,) = connection.execute(
                "SELECT count(*) FROM api_keys WHERE account_id = ? AND revoked_at IS NULL",
                (account,),
            ).fetchone()
            if count >= MOST_KEYS:
                raise SettingsError(
                    f"The account has {MOST_KEYS} keys.", "Revoke one that is not used."
                )
            return insert_key(connection, account, name, self._clock())

    def holder(self, key: str) -> Holder | None:
        """Return whose a key is; None if it is unknown or revoked."""
        found = self._database.read(
            "SELECT account_id, key_id FROM api_keys WHERE key_hash = ? AND revoked_at IS NULL",
            hashed(key),
        )
        return Holder(*found[0]) if found else None

    def of(self, account: int) -> list[ApiKey]:
        """Return an account's keys, the newest first."""
        rows = self._database.read(
            "SELECT key_id, name, hint, made_at, used_at, revoked_at FROM api_keys "
            "WHERE account_id = ? ORDER BY key_id DESC",
            account,
        )
        return [ApiKey(*row) for row in rows]

    def revoke(self, account: int, key_id: int) -> bool:
        """Make a key nobody's from now on; say whether it was this account's and in use."""
        with self._database.writing() as connection:
            return _revoke(connection, account, key_id, self._clock())

    def rotate(self, account: int, key_id: int) -> NewKey | None:
        """Put a new key of the same name in a key's place.

        Returns:
            The new key; None if the old one was not this account's, or not in use.
        """
        with self._database.writing() as connection:
            now = self._clock()
            if not _revoke(connection, account, key_id, now):
                return None
            (name,) = connection.execute(
                "SELECT name FROM api_keys WHERE key_id = ?", (key_id,)
            ).fetchone()
            return insert_key(connection, account, name, now)


def insert_key(connection: sqlite3.Connection, account: int, name: str, now: float) -> NewKey:
    """Make a key in a transaction that is under way."""
    key = PREFIX + make_secret()
    cursor = connection.execute(
        "INSERT INTO api_keys (key_hash, account_id, name, hint, made_at) VALUES (?, ?, ?, ?, ?)",
        (hashed(key), account, name, key[:HINT], now),
    )
    return NewKey(int(cursor.lastrowid or 0), key)


def _revoke(connection: sqlite3.Connection, account: int, key_id: int, now: float) -> bool:
    cursor = connection.execute(
        "UPDATE api_keys SET revoked_at = ? "
        "WHERE key_id = ? AND account_id = ? AND revoked_at IS NULL",
        (now, key_id, account),
    )
    return cursor.rowcount == 1


def _checked(name: str) -> str:
    name = " ".join(name.split()) or "unnamed"
    if len(name) > LONGEST_NAME:
        raise SettingsError(
            f"The name of the key has {len(name):,} characters.",
            f"Shorten it to {LONGEST_NAME}.",
        )
    return name
