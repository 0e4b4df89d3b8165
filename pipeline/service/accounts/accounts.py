"""The accounts of a service, with their keys, statements and sessions."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from unicodedata import normalize

from email_validator import EmailNotValidError, validate_email

from pipeline.errors import SettingsError
from pipeline.money import plain
from pipeline.service.accounts.database import Database, row_number
from pipeline.service.accounts.keys import (
    Keys,
    NewKey,
    Passwords,
    Sessions,
    insert_key,
)
from pipeline.service.accounts.statement import Audit, Statement, insert_opening

STARTING_BALANCE = Decimal("5.00")
"""The balance of a new account, US dollars."""

FIRST_KEY = "first key"
"""The name of the key that an account opens with."""

LONGEST_EMAIL = 1000
"""Characters before normalisation: each is checked first; a stored address has at most 254."""


@dataclass(frozen=True, slots=True)
class Account:
    """An account; without an e-mail address, nobody logs in. The schema explains the columns."""

    account_id: int
    email: str | None
    opened_at: float
    balance_usd: Decimal


class Accounts:
    """The accounts in one folder, for any number of threads and processes.

    The folder is created if necessary; `clock` returns seconds since 1970.

    Raises:
        SettingsError: the folder or the file cannot be used.
    """

    def __init__(
        self,
        folder: Path,
        clock: Callable[[], float] = time.time,
        passwords: Passwords | None = None,
    ) -> None:
        self.folder = folder
        self._database = Database(folder)
        self._clock = clock
        self._passwords = passwords or Passwords()
        self.keys = Keys(self._database, clock)
        self.statement = Statement(self._database, clock)
        self.sessions = Sessions(self._database, clock)

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def check(self) -> None:
        """Check that the database can be read and, if the last change failed, written.

        Raises:
            sqlite3.Error: it cannot.
        """
        self._database.check()

    def open(self, balance: Decimal = STARTING_BALANCE) -> NewKey:
        """Open an account with a balance and a key, and without a login."""
        now = self._clock()
        with self._database.writing() as connection:
            account = _insert(connection, now, balance)
            return insert_key(connection, account, FIRST_KEY, now)

    def sign_up(self, email: str, password: str, balance: Decimal = STARTING_BALANCE) -> int:
        """Open an account with a login and without a key; return its number.

        Raises:
            SettingsError: the address or the password is not valid, or the address has an account.
        """
        address = checked_email(email)
        kept = self._passwords.hash(password)
        try:
            with self._database.writing() as connection:
                return _insert(connection, self._clock(), balance, address, kept)
        except sqlite3.IntegrityError as error:
            raise SettingsError("This e-mail address already has an account.", "Log in.") from error

    def log_in(self, email: str, password: str) -> int | None:
        """Return the account if the password is right, else None.

        It takes as long without such an account.
        """
        rows = self._database.read(
            "SELECT account_id, password_hash FROM accounts WHERE email = ?", canonical_email(email)
        )
        account, kept = rows[0] if rows else (None, None)
        return account if self._passwords.matches(password, kept) else None

    def set_password(self, account: int, password: str) -> None:
        """Change a password, and end all sessions of the account.

        Raises:
            SettingsError: the password is too short or too long.
        """
        kept = self._passwords.hash(password)
        with self._database.writing() as connection:
            connection.execute(
                "UPDATE accounts SET password_hash = ? WHERE account_id = ?", (kept, account)
            )
            connection.execute("DELETE FROM sessions WHERE account_id = ?", (account,))

    def find(self, name: str) -> Account | None:
        """Return the account with a number or an e-mail address; None without one."""
        rows = self._read(
            "WHERE account_id = ? OR email = ?", row_number(name), canonical_email(name)
        )
        return rows[0] if rows else None

    def account(self, account: int) -> Account:
        """Return an account.

        Raises:
            LookupError: there is no such account.
        """
        rows = self._read("WHERE account_id = ?", account)
        if not rows:
            raise LookupError(account)
        return rows[0]

    def all(self) -> list[Account]:
        """Return every account, the oldest first."""
        return self._read("ORDER BY account_id")

    def balance(self, account: int) -> Decimal:
        """Return the balance of an account, US dollars."""
        return self.account(account).balance_usd

    def today(self) -> date:
        """Return today by the clock of the accounts, UTC."""
        return datetime.fromtimestamp(self._clock(), UTC).date()

    @contextmanager
    def audit(self) -> Iterator[Audit]:
        """Yield an audit of all accounts, as they are now."""
        with self._database.snapshot() as connection:
            yield Audit(connection)

    def _read(self, which: str, *values: object) -> list[Account]:
        rows = self._database.read(
            f"SELECT account_id, email, opened_at, balance_usd FROM accounts {which}",  # noqa: S608 - our own words
            *values,
        )
        return [Account(number, email, at, Decimal(usd)) for number, email, at, usd in rows]


def _insert(
    connection: sqlite3.Connection,
    now: float,
    balance: Decimal,
    email: str | None = None,
    password_hash: str | None = None,
) -> int:
    cursor = connection.execute(
        "INSERT INTO accounts (opened_at, email, password_hash, balance_usd) VALUES (?, ?, ?, ?)",
        (now, email, password_hash, plain(balance)),
    )
    account = int(cursor.lastrowid or 0)
    insert_opening(connection, account, balance, now)
    return account


def canonical_email(email: str) -> str:
    """Return an address in the form that is stored; other text in lower case."""
    try:
        return checked_email(email)
    except SettingsError:
        return email.strip().lower()


def checked_email(email: str) -> str:
    """Return an address in lower case, without full-width and such letters, and without xn--.

    Raises:
        SettingsError: it is not valid.
    """
    typed = email.strip() if len(email) <= LONGEST_EMAIL else ""
    text = normalize("NFKC", normalize("NFKC", typed).lower())
    try:
        return validate_email(text, check_deliverability=False, strict=True).normalized
    except EmailNotValidError as error:
        hint = "Write it like name@example.org."
        raise SettingsError("This is not an e-mail address.", hint) from error
