"""The ledger's file: one connection that writes, one that reads, one place for SQLite's errors."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

from pipeline.errors import LedgerError
from pipeline.files.sqlite import connect, has_log, transaction
from pipeline.paid.ledger.place import Place
from pipeline.paid.ledger.schema import VERSION, create_tables, migrate, version_of

__all__ = ["Database", "Source", "translated"]

PATIENCE_S = 60.0
"""How long to wait for another process's transaction, which takes seconds at most."""

CACHE_KIB = 32 * 1024
"""Page cache; the first rows of a large table are written all over the file."""

DIGESTS_AT_ONCE = 500
"""SQLite before 3.32 takes no more than 999 parameters."""

_ANOTHER = "or name another ledger: --ledger PATH."
_SAME_COMMAND = "then run the same command: it continues."
_ADVICE = {
    sqlite3.SQLITE_BUSY: f"End the program that holds it, {_SAME_COMMAND}",
    sqlite3.SQLITE_LOCKED: f"End the program that holds it, {_SAME_COMMAND}",
    sqlite3.SQLITE_FULL: f"Free some space on the disk, {_SAME_COMMAND}",
    sqlite3.SQLITE_READONLY: f"Make the file and its folder writable, {_ANOTHER}",
    sqlite3.SQLITE_PERM: f"Make the file and its folder writable, {_ANOTHER}",
    sqlite3.SQLITE_CANTOPEN: f"Make the file and its folder writable, {_ANOTHER}",
    sqlite3.SQLITE_NOTADB: f"Check that the path is the right one, {_ANOTHER}",
    sqlite3.SQLITE_CORRUPT: f"Put a copy of it in its place, {_ANOTHER}",
}
_OTHER_ADVICE = f"Check the disk, {_ANOTHER}"


class Source(Protocol):
    """Something that answers queries; both `Database` and `Snapshot` do."""

    def rows(self, query: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Read.

        Raises:
            LedgerError: the ledger cannot be read.
        """
        ...


class Database:
    """One ledger file, open.

    What is being written is not seen by reads until it is committed, and a commit is on the
    disk before it returns. Several threads may use it.

    Args:
        path: the file; it is made if it is not there.

    Raises:
        LedgerError: the file is damaged, locked, of another kind or cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._writing = Lock()
        self._saved: LedgerError | None = None
        with self._translated():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = _connect(path)
            try:
                _set_up(self._writer, path)
                self._place = Place(path)
                self._reader = _connect(path)
            except BaseException:
                self._writer.close()
                raise
            self._reader.execute("PRAGMA query_only = ON")

    def close(self) -> None:
        """Let go of the file, once a commit under way is done."""
        with self._writing, self._translated():
            self._reader.close()
            self._writer.close()

    def give_space_back(self) -> None:
        """Give the disk what deleted rows took, if any; it takes as much as the rest meanwhile.

        The file is written anew, because ledgers do not keep the books of free pages that
        SQLite's other way needs, which would cost every write a little.

        Raises:
            LedgerError: the file cannot be written, or there is no room for the new one.
        """
        with self._writing, self._translated():
            if self._writer.execute("PRAGMA freelist_count").fetchone() != (0,):
                self._writer.execute("VACUUM")
            self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    @property
    def lost(self) -> LedgerError | None:
        """What to say if the file is not where it was opened any more; it can be written still."""
        return None if self._place.is_kept else self._place.lost()

    def check_place(self) -> None:
        """Look whether the file is still where it was opened.

        Raises:
            LedgerError: it was moved, deleted or replaced. It says where everything is now that
                was written; of a deleted file a copy is made.
        """
        if self._place.is_kept:
            return
        with self._writing:
            if self._saved is None:
                self._saved = self._place.saved(self._writer)
        raise self._saved

    @contextmanager
    def transaction(self, wherever: bool = False) -> Iterator[sqlite3.Connection]:
        """Do several things at once; they are on the disk when this ends, or none is done.

        Args:
            wherever: even if the file is not where it was opened any more.

        Raises:
            LedgerError: the file cannot be written.
        """
        if not wherever:
            self.check_place()
        with self._writing, self._translated(), transaction(self._writer):
            yield self._writer

    def rows(self, query: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Read what is committed.

        Raises:
            LedgerError: the file cannot be read.
        """
        with self._translated():
            yield from self._reader.execute(query, values)

    def rows_of(
        self, digests: Sequence[bytes], query: str, *values: Any
    ) -> Iterator[tuple[Any, ...]]:
        """Read what concerns the texts of some digests.

        Args:
            digests: any number of them.
            query: has ``IN (:digests)`` in it, behind all other parameters.
            values: the other parameters.
        """
        for start in range(0, len(digests), DIGESTS_AT_ONCE):
            some = digests[start : start + DIGESTS_AT_ONCE]
            marks = ", ".join("?" * len(some))
            yield from self.rows(query.replace(":digests", marks), *values, *some)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        with translated(f"The ledger {self.path} cannot be used", _ADVICE, _OTHER_ADVICE):
            yield


@contextmanager
def translated(message: str, advice: Mapping[int, str], otherwise: str) -> Iterator[None]:
    """Tell SQLite's errors, and the system's, as errors of the ledger.

    Args:
        message: what cannot be done.
        advice: what to do about it, by SQLite's primary result codes.
        otherwise: what to do about the rest.

    Raises:
        LedgerError: there was one.
    """
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # without the finer distinctions
        raise LedgerError(f"{message}: {error}.", advice.get(code, otherwise)) from error


def _connect(path: Path) -> sqlite3.Connection:
    connection = connect(path, PATIENCE_S)
    try:
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    except BaseException:
        connection.close()
        raise
    return connection


def _set_up(connection: sqlite3.Connection, path: Path) -> None:
    version = version_of(connection, path)
    if not has_log(connection, PATIENCE_S):
        raise LedgerError(
            f"The folder of the ledger {path} cannot hold one.",
            "Name a ledger on a local disk: --ledger PATH.",
        )
    if version != VERSION:
        with transaction(connection):
            version = version_of(connection, path)  # another process may have been faster
            if version == 0:
                create_tables(connection)
            else:
                migrate(connection, version)
