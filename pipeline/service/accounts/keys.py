"""The secrets of accounts: API keys, the sessions of the pages, and hashed passwords."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from unicodedata import normalize

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from pipeline.errors import SettingsError
from pipeline.service.accounts.database import Database
from pipeline.wording import how_many

SHORTEST, LONGEST = 10, 500
"""Characters; the upper limit keeps hashing quick."""

TRIED = 4 * LONGEST + 1
"""Characters that are checked: a character decomposes into four at most."""


class Passwords:
    """Hashes and checks passwords; each takes a tenth of a second and 64 MiB."""

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher()  # the low-memory choice of RFC 9106

    @cached_property
    def _nobodys(self) -> str:
        return self._hasher.hash("the password of an account that there is not")

    def hash(self, password: str) -> str:
        """Return the hash of a password.

        Raises:
            SettingsError: it is too short or too long.
        """
        if error := password_error(password):
            raise error
        return self._hasher.hash(_bytes(password))

    def matches(self, password: str, kept: str | None) -> bool:
        """Return whether a password is right; it takes as long without a hash to compare."""
        try:
            right = self._hasher.verify(kept or self._nobodys, _bytes(password[:TRIED]))
        except (VerificationError, InvalidHashError):
            return False
        return right and kept is not None


def password_error(password: str) -> SettingsError | None:
    """Return what is wrong with a new password; None if its length is right."""
    if SHORTEST <= len(password) <= LONGEST:
        return None
    length = how_many(len(password), "character")
    return SettingsError(f"The password has {length}.", f"Use {SHORTEST} to {LONGEST}.")


def _bytes(password: str) -> bytes:
    """Return the bytes to hash, composed by RFC 8265: é may be typed as e and an accent."""
    return normalize("NFC", password).encode("utf-8", "surrogatepass")


def make_secret() -> str:
    """Return 256 random bits as 43 characters that need no escaping."""
    return secrets.token_urlsafe(32)


def hash_secret(secret: str) -> bytes:
    """Return the hash of a secret; 256 random bits need no slow hash."""
    return sha256(secret.encode("utf-8", "surrogatepass")).digest()


LIFETIME = 7 * 86400
"""Seconds that a session lasts."""


@dataclass
class Sessions:
    """The sessions in a database; `clock` returns seconds since 1970."""

    _database: Database
    _clock: Callable[[], float]

    def begin(self, account: int) -> str:
        """Begin a session; return the token for the cookie."""
        token, now = make_secret(), self._clock()
        with self._database.writing() as connection:
            connection.execute("DELETE FROM sessions WHERE ends_at <= ?", (now,))
            connection.execute(
                "INSERT INTO sessions VALUES (?, ?, ?)",
                (hash_secret(token), account, now + LIFETIME),
            )
        return token

    def account_of(self, token: str) -> int | None:
        """Return the account of a token; None if there is no such session, or it has ended."""
        rows = self._database.read(
            "SELECT account_id FROM sessions WHERE token_hash = ? AND ends_at > ?",
            hash_secret(token),
            self._clock(),
        )
        return int(rows[0][0]) if rows else None

    def end(self, token: str) -> None:
        """End a session."""
        with self._database.writing() as connection:
            connection.execute("DELETE FROM sessions WHERE token_hash = ?", (hash_secret(token),))


PREFIX = "tp_"
"""Lets people and secret scanners recognise a key."""

HINT = len(PREFIX) + 4
"""Characters of a key that are stored, to tell keys apart."""

LONGEST_NAME = 100

MOST_KEYS = 100
"""Per account, not counting revoked ones."""


@dataclass(frozen=True, slots=True)
class Holder:
    """The account that pays for a request, and its key; None for a request from a page."""

    account_id: int
    key_id: int | None = None


@dataclass(frozen=True, slots=True)
class NewKey:
    """A new key of an account, with the secret, which is not stored and cannot be shown again."""

    account_id: int
    key_id: int
    key: str


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A stored key. Times are seconds since 1970; the schema explains the columns."""

    key_id: int
    name: str
    hint: str
    made_at: float
    used_at: float | None
    revoked_at: float | None


@dataclass
class Keys:
    """The keys in a database; `clock` returns seconds since 1970."""

    _database: Database
    _clock: Callable[[], float]

    def make(self, account: int, name: str) -> NewKey:
        """Make a key.

        Raises:
            SettingsError: the name is too long, or there are too many keys.
        """
        name = one_line("name of the key", name, LONGEST_NAME) or "unnamed"
        with self._database.writing() as connection:
            (count,) = connection.execute(
                "SELECT count(*) FROM api_keys WHERE account_id = ? AND revoked_at IS NULL",
                (account,),
            ).fetchone()
            if count >= MOST_KEYS:
                raise SettingsError(
                    f"The account already has {MOST_KEYS} keys.", "Revoke one that is not used."
                )
            return insert_key(connection, account, name, self._clock())

    def holder(self, key: str) -> Holder | None:
        """Return the holder of a key; None if it is unknown or revoked."""
        rows = self._database.read(
            "SELECT account_id, key_id FROM api_keys WHERE key_hash = ? AND revoked_at IS NULL",
            hash_secret(key),
        )
        return Holder(*rows[0]) if rows else None

    def of(self, account: int) -> list[ApiKey]:
        """Return an account's keys, the newest first."""
        rows = self._database.read(
            "SELECT key_id, name, hint, made_at, used_at, revoked_at FROM api_keys "
            "WHERE account_id = ? ORDER BY key_id DESC",
            account,
        )
        return [ApiKey(*row) for row in rows]

    def revoke(self, account: int, key_id: int) -> bool:
        """Revoke a key; return whether the account had it in use."""
        with self._database.writing() as connection:
            cursor = connection.execute(
                "UPDATE api_keys SET revoked_at = ? "
                "WHERE key_id = ? AND account_id = ? AND revoked_at IS NULL",
                (self._clock(), key_id, account),
            )
            return cursor.rowcount == 1


def one_line(what: str, text: str, most: int) -> str:
    """Return a text that somebody typed as one line.

    Raises:
        SettingsError: it has more characters than `most`.
    """
    line = " ".join(text.split())
    if len(line) > most:
        raise SettingsError(f"The {what} has {len(line):,} characters.", f"Shorten it to {most}.")
    return line


def insert_key(connection: sqlite3.Connection, account: int, name: str, now: float) -> NewKey:
    """Make a key, within a transaction."""
    key = PREFIX + make_secret()
    cursor = connection.execute(
        "INSERT INTO api_keys (key_hash, account_id, name, hint, made_at) VALUES (?, ?, ?, ?, ?)",
        (hash_secret(key), account, name, key[:HINT], now),
    )
    return NewKey(account, int(cursor.lastrowid or 0), key)
