"""The service's SQLite files, and the lock of their folder."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

from filelock import FileLock, Timeout

from pipeline.errors import SettingsError, reason
from pipeline.files import sqlite as sqlite_files

FILE = "service.db"

VERSION = 2

SCHEMA = Path(__file__).with_name("schema.sql").read_text("utf-8")

PATIENCE_S = 10.0
"""Seconds to wait for a transaction of another process, which takes milliseconds."""

_ANOTHER = "or choose another folder: --data DIR."
_ADVICE = {
    sqlite3.SQLITE_BUSY: "Nothing was changed. Try again, or stop the program that locks the file.",
    sqlite3.SQLITE_FULL: "Nothing was changed. Free space on the disk.",
    sqlite3.SQLITE_IOERR: f"Check the disk and its free space, {_ANOTHER}",
    sqlite3.SQLITE_CORRUPT: f"Restore the folder from a backup, {_ANOTHER}",
    sqlite3.SQLITE_NOTADB: f"Check that it is the right folder, {_ANOTHER}",
}
_OTHER_ADVICE = "Choose a folder that you may write to: --data DIR."


class Database:
    """The open file of a folder, for any number of threads and processes.

    One connection writes, and one reads. Every commit is on the disk before it returns. Reads see
    only committed data; reads and writes do not wait for each other.

    Raises:
        SettingsError: the folder or the file cannot be used, or has another version.
    """

    def __init__(self, folder: Path) -> None:
        self._writing, self._reading = Lock(), Lock()
        self._connected = partial(connect, folder, FILE, SCHEMA, VERSION)
        self._writer = self._connected()
        self._reader = self._connected()
        self._reader.execute("PRAGMA query_only = ON")
        self._has_failed = False  # the last transaction

    def close(self) -> None:
        """Close the file, after a commit under way."""
        with self._writing, self._reading:
            self._reader.close()
            self._writer.close()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection in a transaction, durable when the block ends, or undone."""
        with self._writing:
            try:
                with self._writer as connection:
                    connection.execute("BEGIN IMMEDIATE")
                    yield connection
            except sqlite3.Error:
                self._has_failed = True
                raise
            self._has_failed = False

    def check(self) -> None:
        """Check that the file can be read and, if the last transaction failed, written.

        Raises:
            sqlite3.Error: it cannot.
        """
        self.read("SELECT version FROM about")
        if self._has_failed:
            with self.writing() as connection:
                connection.execute("CREATE TABLE trial (anything)")  # a change that takes space
                connection.execute("DROP TABLE trial")

    def read(self, query: str, *values: object) -> list[Any]:
        """Return the rows of a query."""
        with self._reading:
            return self._reader.execute(query, values).fetchall()

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection that reads the file as it is now, without blocking anything."""
        connection = self._connected()
        try:
            connection.execute("PRAGMA query_only = ON")
            connection.execute("BEGIN")
            yield connection
        finally:
            connection.close()


def connect(folder: Path, file: str, schema: str, version: int) -> sqlite3.Connection:
    """Open one connection to a file; the folder and the file are created if necessary.

    The schema is without `about`, which has the version.
    """
    connection = None
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / file).touch(mode=0o600)  # it holds e-mail addresses and password hashes
        connection = sqlite_files.connect(folder / file, PATIENCE_S)
        if not sqlite_files.has_log(connection, PATIENCE_S):
            raise SettingsError(
                f"The data folder {folder} cannot hold a database that several processes use.",
                "Choose one on a local disk: --data DIR.",
            )
        _set_up(connection, file, schema, version)
    except (sqlite3.Error, OSError, SettingsError) as error:
        if connection is not None:
            connection.close()
        if isinstance(error, SettingsError):
            raise
        raise unusable(folder, error) from error
    return connection


def _set_up(connection: sqlite3.Connection, file: str, schema: str, version: int) -> None:
    if not _is_set_up(connection):
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            if not _is_set_up(connection):  # another process may have done it meanwhile
                connection.execute("CREATE TABLE about (version INTEGER NOT NULL)")
                for statement in schema.split(";\n"):
                    connection.execute(statement)
                connection.execute("INSERT INTO about VALUES (?)", (version,))
    (there,) = connection.execute("SELECT version FROM about").fetchone() or (None,)
    if not isinstance(there, int):
        raise damaged(file)
    if there != version:
        raise SettingsError(
            f"The service's {file} was written by {'a newer' if there > version else 'an older'} "
            "version of this tool.",
            "Choose another folder: --data DIR."
            if there < version
            else "Update tender-pipeline, or choose another folder: --data DIR.",
        )


def _is_set_up(connection: sqlite3.Connection) -> bool:
    tables = connection.execute("SELECT name FROM sqlite_master WHERE name = 'about'")
    return tables.fetchone() is not None


def unusable(folder: Path, error: Exception) -> SettingsError:
    """Return the error for a file that SQLite or the system cannot use."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the primary result code
    return SettingsError(
        f"The data folder {folder} cannot be used: {reason(error)}.",
        _ADVICE.get(code, _OTHER_ADVICE),
    )


def damaged(file: str) -> SettingsError:
    """Return the error for a file whose values are of other types than the service writes."""
    return SettingsError(f"The service's {file} is damaged.", _ADVICE[sqlite3.SQLITE_CORRUPT])


def row_number(text: str) -> int | None:
    """Return the number of a row that a text names; None if it is not one that SQLite can have."""
    return int(text) if re.fullmatch(r"\d{1,18}", text, re.ASCII) else None


@contextmanager
def only_service(folder: Path) -> Iterator[None]:
    """Lock a folder for one service, because rate limits are kept in memory.

    Commands may still use its accounts. The system releases the lock when the process ends, even
    after a crash.

    Raises:
        SettingsError: another service runs on it, or it cannot be locked.
    """
    lock = FileLock(folder / "service.lock", mode=0o600)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock.acquire(blocking=False)
    except Timeout:
        raise SettingsError(
            f"Another service runs on the data folder {folder}.",
            "Stop it, or choose another folder: --data DIR.",
        ) from None
    except OSError as error:
        raise unusable(folder, error) from error
    try:
        yield
    finally:
        lock.release()
