"""Who is logged in on the pages: kept here, so that logging out ends it wherever the cookie is."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from pipeline.service.accounts.database import Database
from pipeline.service.accounts.secret import hashed, make_secret

__all__ = ["LIFETIME", "Sessions", "delete_sessions"]

LIFETIME = 7 * 86400
"""Seconds from logging in until it has to be done again."""


class Sessions:
    """The sessions in one database.

    Args:
        database: where they are.
        clock: gives seconds since 1970.
    """

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock

    def begin(self, account: int) -> str:
        """Log an account in; return the token for the cookie."""
        token, now = make_secret(), self._clock()
        with self._database.writing() as connection:
            connection.execute("DELETE FROM sessions WHERE ends_at <= ?", (now,))
            connection.execute(
                "INSERT INTO sessions VALUES (?, ?, ?)", (hashed(token), account, now + LIFETIME)
            )
        return token

    def account_of(self, token: str) -> int | None:
        """Return who has logged in with a token; None if nobody has, or no longer."""
        found = self._database.read(
            "SELECT account_id FROM sessions WHERE token_hash = ? AND ends_at > ?",
            hashed(token),
            self._clock(),
        )
        return int(found[0][0]) if found else None

    def end(self, token: str) -> None:
        """Log out."""
        with self._database.writing() as connection:
            connection.execute("DELETE FROM sessions WHERE token_hash = ?", (hashed(token),))


def delete_sessions(connection: sqlite3.Connection, account: int) -> None:
    """Log an account out everywhere, in a transaction that is under way."""
    connection.execute("DELETE FROM sessions WHERE account_id = ?", (account,))
