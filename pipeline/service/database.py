"""The SQLite file that the service keeps, and how it and others beside it are opened."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.errors import SettingsError

__all__ = ["connect", "transaction"]

FILE = "service.db"

VERSION = 1

SCHEMA = """
CREATE TABLE about (version INTEGER NOT NULL);

-- Money is text: SQLite would add it as floating point numbers.
CREATE TABLE accounts (
    account_id INTEGER PRIMARY KEY,
    opened_at REAL NOT NULL,
    balance_usd TEXT NOT NULL
);

-- Keys themselves are not kept. They have 256 random bits, so a plain hash cannot be undone.
CREATE TABLE api_keys (
    key_hash BLOB PRIMARY KEY,
    account_id INTEGER NOT NULL REFERENCES accounts,
    made_at REAL NOT NULL,
    revoked_at REAL
) WITHOUT ROWID;

-- One successful call each. A demo call has a price but no account, and nobody pays it.
CREATE TABLE charges (
    charge_id INTEGER PRIMARY KEY,
    charged_at REAL NOT NULL,
    account_id INTEGER REFERENCES accounts,
    system TEXT NOT NULL,
    price_usd TEXT NOT NULL
);
"""


def connect(folder: Path, file: str = FILE, schema: str = SCHEMA) -> sqlite3.Connection:
    """Open a file of the service in a folder; both are made if they are not there.

    Every commit is on the disk before it returns.

    Args:
        folder: where the file is.
        file: its name.
        schema: its tables, with `about` among them.

    Raises:
        SettingsError: the folder or the file cannot be used.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(
            folder / file, timeout=10, isolation_level=None, check_same_thread=False
        )
    except (sqlite3.Error, OSError) as error:
        raise _unusable(folder, error) from error
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        _set_up(connection, file, schema)
    except sqlite3.Error as error:
        connection.close()
        raise _unusable(folder, error) from error
    except SettingsError:
        connection.close()
        raise
    return connection


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Do several things at once; they are on the disk when this ends, or none is done."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise


def _set_up(connection: sqlite3.Connection, file: str, schema: str) -> None:
    with transaction(connection):
        tables = connection.execute("SELECT name FROM sqlite_master WHERE name = 'about'")
        if tables.fetchone() is None:
            for statement in schema.split(";"):
                connection.execute(statement)
            connection.execute("INSERT INTO about VALUES (?)", (VERSION,))
        (version,) = connection.execute("SELECT version FROM about").fetchone()
    if version > VERSION:
        raise SettingsError(
            f"The service's {file} was written by a newer version of this tool.",
            "Update tender-pipeline, or name another folder: --data DIR.",
        )


def _unusable(folder: Path, error: Exception) -> SettingsError:
    return SettingsError(
        f"The data folder {folder} cannot be used: {error}.",
        "Name a folder that you may write to: --data DIR.",
    )
