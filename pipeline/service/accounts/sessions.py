"""The sessions of the pages, kept on the server so that logging out ends them everywhere."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from pipeline.service.accounts.database import Database
from pipeline.service.accounts.hashing import hashed, make_secret

__all__ = ["LIFETIME", "Sessions", "delete_sessions"]

LIFETIME = 7 * 86400
"""Seconds that a session lasts."""


class Sessions:
    """The sessions in a database; `clock` returns seconds since 1970."""

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock

    def begin(self, account: int) -> str:
        """Begin a session; return the token for the cookie."""
        token, now = make_secret(), self._clock()
        with self._database.writing() as connection:
            connection.execute("DELETE FROM sessions WHERE ends_at <= ?", (now,))
            connection.execute(
                "INSERT INTO sessions VALUES (?, ?, ?)", (hashed(token), account, now + LIFETIME)
            )
        return token

    def account_of(self, token: str) -> int | None:
        """Return the account of a token; None if there is no such session, or it has ended."""
        found = self._database.read(
            "SELECT account_id FROM sessions WHERE token_hash = ? AND ends_at > ?",
            hashed(token),
            self._clock(),
        )
        return int(found[0][0]) if found else None

    def end(self, token: str) -> None:
        """End a session."""
        with self._database.writing() as connection:
            connection.execute("DELETE FROM sessions WHERE token_hash = ?", (hashed(token),))


def delete_sessions(connection: sqlite3.Connection, account: int) -> None:
    """End all sessions of an account, within a transaction."""
    connection.execute("DELETE FROM sessions WHERE account_id = ?", (account,))
