"""Opens SQLite files with a write-ahead log and a full sync for each commit."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

RETRY_S = 0.01


def connect(path: Path, patience_s: float) -> sqlite3.Connection:
    """Open a database, with explicit transactions, for use from any thread.

    Args:
        path: the file; created if it does not exist.
        patience_s: how long to wait for other connections' transactions, seconds.

    Raises:
        sqlite3.Error: the file cannot be opened.
    """
    connection = sqlite3.connect(
        path, timeout=patience_s, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = ON")  # macOS: flush the disk's cache too
        connection.execute("PRAGMA foreign_keys = ON")
    except BaseException:
        connection.close()
        raise
    return connection


def has_log(connection: sqlite3.Connection, patience_s: float) -> bool:
    """Turn the write-ahead log on; return whether the file has one, which needs a local disk.

    SQLite's own timeout does not apply to this statement.

    Raises:
        sqlite3.Error: the file cannot be used, or was locked for longer than ``patience_s``.
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
