"""A read-only view of the ledger at one moment, while runs may go on writing it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pipeline.errors import LedgerError
from pipeline.paid.ledger.database import (
    ADVICE,
    ANOTHER,
    CACHE_KIB,
    PATIENCE_S,
    check_not_gone,
    translate_errors,
)
from pipeline.paid.ledger.schema import version_of
from pipeline.wording import LEDGER

_ADVICE = ADVICE | {
    sqlite3.SQLITE_BUSY: "Try again when the program that holds it has ended.",
    sqlite3.SQLITE_CANTOPEN: f"Make the file readable and its folder writable, {ANOTHER}",
    sqlite3.SQLITE_PERM: f"Make the file readable and its folder writable, {ANOTHER}",
}


class Snapshot:
    """A ledger file as it is when this is opened; a context manager that changes nothing.

    The file may be of an older version of the tool. Close the snapshot soon: while it is open, the
    write-ahead log of a run that is buying grows.

    Args:
        path: the file.

    Attributes:
        path: as above.
        version: the version of its tables.

    Raises:
        LedgerError: the file does not exist, is damaged, of another kind, or cannot be read. Every
            method may raise it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.resolve()  # SQLite keeps its other files beside this one
        try:
            exists = path.exists()
        except PermissionError as error:
            raise LedgerError(
                f"The ledger {path} cannot be read: {error.strerror}.",
                f"Check the permissions of the folders above it, or name another: {LEDGER}.",
            ) from error
        check_not_gone(path)
        if not exists:
            raise LedgerError(
                f"There is no ledger {path}.",
                f"The first paid run creates it; name the right one with {LEDGER}.",
            )
        if not path.is_file():
            raise LedgerError(f"{path} is not a file.", f"Name another ledger: {LEDGER}.")
        with self._translate_errors():
            self._connection = _connect(self._file)
            try:
                self.version = version_of(self._connection, path)
            except BaseException:
                self._connection.close()
                raise
        if self.version == 0:
            self._connection.close()
            raise LedgerError(
                f"{path} is empty: it is not a ledger yet.",
                f"The first paid run makes it one; name the right one with {LEDGER}.",
            )

    def __enter__(self) -> Snapshot:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @property
    def size(self) -> int:
        """Bytes on the disk, including the write-ahead log."""
        files = (self._file, _log_of(self._file))
        return sum(file.stat().st_size for file in files if file.exists())

    def rows(self, query: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query."""
        with self._translate_errors():
            yield from self._connection.execute(query, values)

    def one(self, query: str, *values: Any) -> tuple[Any, ...]:
        """Return the only row of a query."""
        (row,) = self.rows(query, *values)
        return row

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        with translate_errors(f"The ledger {self.path} cannot be read", _ADVICE):
            yield


def _connect(path: Path) -> sqlite3.Connection:
    """Open the file and read once, which fixes the moment.

    Readers and writers share an index of the write-ahead log beside the file. If this user cannot
    create that and there is no log, then nobody is writing.
    """
    try:
        return _begin(path, "mode=ro")
    except sqlite3.OperationalError:
        if _log_of(path).exists():
            raise
        return _begin(path, "mode=ro&immutable=1")


def _begin(path: Path, how: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.as_uri()}?{how}", timeout=PATIENCE_S, isolation_level=None, uri=True
    )
    try:
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")
