"""The ledger's file: open for a run that reads and writes, or as it is at one moment."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from shlex import quote
from threading import RLock
from typing import Any

from pipeline.errors import LedgerError, reason
from pipeline.files.paths import is_file_at, machine_folder
from pipeline.files.sqlite import connect, has_log
from pipeline.paid.ledger.schema import (
    OWN_FIRST_ROWS,
    VERSION,
    create_tables,
    migrate,
    version_of,
)
from pipeline.wording import LEDGER, RUN_AGAIN, THEN_RUN_AGAIN

LOG = ("-wal", "-shm")
"""What SQLite appends to a file's name for its write-ahead log, and for the index of that."""


def folder_of_locks(ledger: Path) -> Path:
    """Return the folder of the jobs' locks, which the first run makes once there is a ledger."""
    file = ledger.resolve()
    return file.with_name(f"{file.name}.locks")


def check_writable(path: Path) -> None:
    """Check that a ledger, or a new one, can be written at a path without a loss.

    Raises:
        LedgerError: it is gone (see `check_not_gone`), or has more than one hard link.
    """
    check_not_gone(path)
    links = path.stat().st_nlink if path.is_file() else 1
    if links > 1:
        # Each name would have a write-ahead log of its own, without what is in the other ones.
        raise LedgerError(
            f"The ledger {path} has {links} names (hard links): used by different ones, it would "
            "lose answers.",
            f"Delete all names but one; to list them: find / -samefile {quote(str(path))}",
        )


def check_not_gone(path: Path) -> None:
    """Check that no ledger was moved, deleted or emptied since a run used it.

    Raises:
        LedgerError: there is no file, or an empty one, but the folder of its locks; or no file has
            or can have this path, as that of a folder.
    """
    if path.exists() and not path.is_file():
        raise LedgerError(f"{path} is not a file.", f"Name another ledger: {LEDGER}.")
    try:
        locks = folder_of_locks(path)
    except (RuntimeError, ValueError) as error:  # a loop of links, a NUL
        raise LedgerError(
            f"The ledger {path} cannot be used: {error}.", f"Check the path, {ANOTHER}"
        ) from error
    # In this order: another run may be making both.
    if locks.is_dir() and not (path.exists() and path.stat().st_size):
        state = "empty" if path.exists() else "gone"
        raise LedgerError(
            f"The ledger {path} is {state}: the folder {locks.name} beside it shows that there was "
            "one. With a new one, a run would buy every answer again.",
            f"Move it back, or name the place where it is now: {LEDGER}. To begin a new one and "
            f"buy everything again, remove that folder: rm -r {quote(str(locks))}",
        )


class Place:
    """Where a ledger was when it was opened.

    Everything that was bought since then may be in its log alone. SQLite goes on writing to a log
    that was deleted, and after a kill nobody would find it.

    Args:
        path: the file, which exists, and is open.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.resolve()
        files = [self._path, *(self._path.with_name(self._path.name + end) for end in LOG)]
        self._files = [(file, file.stat()) for file in files if file.exists()]

    def loss(self) -> LedgerError | None:
        """Return the error if the file or its log is no longer there; this takes microseconds."""
        lost = [path for path, file in self._files if not is_file_at(path, file)]
        if not lost:
            return None
        gone = lost[0]
        happened = f"lost its file {gone.name}"
        if gone == self._path:
            happened = "was replaced by another file" if gone.exists() else "was moved or deleted"
        return LedgerError(f"The ledger {self._path} {happened} while it was in use.", "")

    def rescue(self, message: str, connection: sqlite3.Connection) -> LedgerError:
        """Ensure that what was written is in a file with a name; return the error that names it.

        Args:
            message: what happened.
            connection: an open connection to the ledger, which nobody uses.
        """
        try:
            # Otherwise the log would stay behind, and another ledger there would use it.
            (busy, *_), *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            if not busy and is_file_at(*self._files[0]):
                return LedgerError(
                    f"{message} Everything bought is in the ledger itself now.",
                    f"Leave the files beside a ledger alone. {RUN_AGAIN}: it continues.",
                )
            # While another program reads what was there before, the file does not have the rest.
            rescued = self._copy(connection)
        except (sqlite3.Error, OSError) as error:
            return LedgerError(
                f"{message} What was bought since it was opened is lost: {error}.",
                "Restore the ledger from a copy before the next run.",
            )
        move = "Remove the file that is there now, then move" if self._path.exists() else "Move"
        return LedgerError(
            f"{message} Everything bought is in {rescued}.",
            f"{move} {rescued} to {self._path}, then {THEN_RUN_AGAIN}: it continues.",
        )

    def _copy(self, connection: sqlite3.Connection) -> Path:
        folder = self._path.parent if self._path.parent.is_dir() else machine_folder()
        names = (f"{self._path.name}.rescued-{number}" for number in range(1, 1000))
        rescued = next(folder / name for name in names if not (folder / name).exists())
        rescued.touch(self._files[0][1].st_mode & 0o777)
        with closing(sqlite3.connect(rescued)) as copy:
            connection.backup(copy)
        return rescued


PATIENCE_S = 60.0
"""How long to wait for another process's transaction, which takes a few seconds at most."""

CACHE_KIB = 32 * 1024
"""The page cache, which is large because the first rows of a table are written all over the file.
"""

OTHER_PARAMETERS = 20
"""The parameters of a query that are no digests, at most."""

ANOTHER = f"or name another ledger: {LEDGER}."
_SAME_COMMAND = f"then {THEN_RUN_AGAIN}: it continues."
_WRITABLE = f"Make the file and its folder writable, {ANOTHER}"
_READABLE = f"Make the file readable and its folder writable, {ANOTHER}"

_SPACE = "Free some space on the disk, and on that of temporary files"

_ADVICE = {
    sqlite3.SQLITE_NOTADB: f"Check the path, {ANOTHER}",
    sqlite3.SQLITE_CORRUPT: f"Restore it from a copy, {ANOTHER}",
    sqlite3.SQLITE_BUSY: f"End the program that holds it, {_SAME_COMMAND}",
    sqlite3.SQLITE_LOCKED: f"End the program that holds it, {_SAME_COMMAND}",
    sqlite3.SQLITE_FULL: f"{_SPACE}, {_SAME_COMMAND}",
    sqlite3.SQLITE_READONLY: _WRITABLE,
    sqlite3.SQLITE_PERM: _WRITABLE,
    sqlite3.SQLITE_CANTOPEN: _WRITABLE,
}
"""What to do about SQLite's errors, by primary result code, for a run."""

_ADVICE_TO_READERS = _ADVICE | {
    sqlite3.SQLITE_BUSY: "Try again when the program that holds it has ended.",
    sqlite3.SQLITE_CANTOPEN: _READABLE,
    sqlite3.SQLITE_PERM: _READABLE,
}


class Database:
    """An open ledger file, for any number of threads.

    Reads see what is committed. A commit returns once it is on the disk.

    Args:
        path: the file; it is created if it does not exist.

    Raises:
        LedgerError: the file is damaged, locked, of another kind, cannot be written, has several
            hard links, or was there and is gone or empty. Every method may raise it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._translate_errors = partial(
            _translate_errors, f"The ledger {path} cannot be used", _ADVICE
        )
        # An interrupt may leave a transaction suspended, with this lock, before its block begins.
        # The same thread can then still close the file, which ends the transaction.
        self._writing = RLock()
        self._saved: LedgerError | None = None
        with self._translate_errors():
            check_writable(path)
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
        """Close the file, after a commit under way."""
        with self._writing, self._translate_errors():
            self._reader.close()
            self._writer.close()

    def use_own_first_rows(self) -> None:
        """Note first rows where no run sees them, from now on: in a temporary table."""
        with self._writing, self._translate_errors():
            self._writer.execute(OWN_FIRST_ROWS)
            self._reader.close()
            self._reader = self._writer

    def give_space_back(self) -> None:
        """Rewrite the file without the space of deleted rows, if any.

        Meanwhile this needs as much space again. SQLite's incremental way would need page maps
        that cost every write a little.
        """
        with self._writing, self._translate_errors():
            if self._writer.execute("PRAGMA freelist_count").fetchone() != (0,):
                self._writer.execute("VACUUM")
            self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    @property
    def lost(self) -> LedgerError | None:
        """The error if the file is no longer where it was opened; it can still be written."""
        return self._place.loss()

    def check_place(self) -> None:
        """Check that the file is still where it was opened.

        Raises:
            LedgerError: it was moved, deleted or replaced. The message says where everything that
                was written is now; a deleted file is copied.
        """
        lost = self.lost
        if lost is None:
            return
        with self._writing:
            self._saved = self._saved or self._place.rescue(lost.message, self._writer)
        raise self._saved

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Commit everything that a block writes, or nothing, wherever the file is now."""
        with self._writing, self._translate_errors():
            try:
                self._writer.execute("BEGIN IMMEDIATE")  # an interrupt may come once it has begun
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.ProgrammingError):  # closed since an interrupt
                    self._writer.rollback()  # no effect if SQLite has done so: on a full disk
                raise

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query, as committed."""
        with self._translate_errors():
            return self._reader.execute(query, values).fetchall()

    def rows_of(self, digests: Sequence[bytes], query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query for any number of digests.

        Args:
            digests: the digests.
            query: contains ``IN (:digests)``, after all other parameters.
            values: the other parameters.
        """
        rows_found: list[tuple[Any, ...]] = []
        with self._translate_errors():
            most = self._reader.getlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER) - OTHER_PARAMETERS
            for start in range(0, len(digests), most):  # SQLite before 3.32 accepts 999
                portion = digests[start : start + most]
                marked = query.replace(":digests", ", ".join("?" * len(portion)))
                rows_found += self._reader.execute(marked, (*values, *portion)).fetchall()
        return rows_found


@contextmanager
def _translate_errors(message: str, advice: Mapping[int, str]) -> Iterator[None]:
    """Raise SQLite's and the system's errors as `LedgerError`.

    Args:
        message: what cannot be done.
        advice: what to do, by SQLite's primary result code; for other errors: check the disk.
    """
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        denied = sqlite3.SQLITE_PERM if isinstance(error, PermissionError) else 0
        code = getattr(error, "sqlite_errorcode", denied) & 0xFF  # the primary result code
        raise LedgerError(
            f"{message}: {reason(error)}.", advice.get(code, f"Check the disk, {ANOTHER}")
        ) from error


def _connect(path: Path) -> sqlite3.Connection:
    connection = connect(path, PATIENCE_S)
    connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    return connection


def _set_up(connection: sqlite3.Connection, path: Path) -> None:
    version = version_of(connection, path)
    if not has_log(connection, PATIENCE_S):
        raise LedgerError(
            f"The ledger {path} cannot be kept in its folder, which is not on a local disk.",
            f"Name a ledger on a local disk: {LEDGER}.",
        )
    if version != VERSION:
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            version = version_of(connection, path)  # another process may have set it up meanwhile
            if version == 0:
                create_tables(connection)
            else:
                migrate(connection, version)


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
        self._translate_errors = partial(
            _translate_errors, f"The ledger {path} cannot be read", _ADVICE_TO_READERS
        )
        first_run = f"The first paid run creates it; name the right one with {LEDGER}."
        with self._translate_errors():
            exists = path.exists()
        check_not_gone(path)
        if not exists:
            raise LedgerError(f"There is no ledger {path}.", first_run)
        with self._translate_errors(), ExitStack() as opened:
            self._file = path.resolve()  # SQLite keeps its other files beside this one
            self._connection = _connect_to_read(self._file)
            opened.callback(self._connection.close)
            self.version = version_of(self._connection, path)
            if self.version == 0:
                raise LedgerError(f"{path} is empty: it is not a ledger yet.", first_run)
            opened.pop_all()

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


def _connect_to_read(path: Path) -> sqlite3.Connection:
    """Open the file and read once, which fixes the moment.

    Readers and writers share an index of the write-ahead log beside the file. If this user cannot
    create that and there is no log, then nobody is writing.
    """
    try:
        return _begin_to_read(path, "mode=ro")
    except sqlite3.OperationalError:
        if _log_of(path).exists():
            raise
        return _begin_to_read(path, "mode=ro&immutable=1")


def _begin_to_read(path: Path, how: str) -> sqlite3.Connection:
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
