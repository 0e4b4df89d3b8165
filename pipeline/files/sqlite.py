"""SQLite files as this tool keeps them: with a write-ahead log, every commit synced."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["connect", "has_log", "transaction"]

RETRY_S = 0.01


def connect(path: Path, patience_s: float) -> sqlite3.Connection:
    """Open a file; its transactions are begun and ended by hand, and any thread may do so.

    Args:
        path: the file; it is made if it is not there.
        patience_s: how long to wait for other connections' transactions, seconds.

    Raises:
        sqlite3.Error: the file cannot be opened.
    """
    connection = sqlite3.connect(
        path, timeout=patience_s, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = ON")  # macOS: to the disk, not only to its cache
        connection.execute("PRAGMA foreign_keys = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def has_log(connection: sqlite3.Connection, patience_s: float) -> bool:
    """Ask for a write-ahead log; say whether the file can have one, which needs a local disk.

    Here alone SQLite does not wait for other connections itself.

    Raises:
        sqlite3.Error: the file cannot be used, or was held for longer than that.
    """
    deadline = time.monotonic() + patience_s
    while True:
        try:
            mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(RETRY_S)
        else:
            return bool(mode == "wal")


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit what a block does, or roll it back."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()  # does nothing where SQLite did so itself, as on a full disk
        raise
