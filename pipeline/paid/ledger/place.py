"""Notices that a ledger was moved, deleted or replaced, which SQLite does not report."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from shlex import quote

from pipeline.errors import LedgerError
from pipeline.files.directories import machine_folder
from pipeline.files.paths import is_file_at

__all__ = ["Place", "check_not_gone", "check_writable", "folder_of_locks"]

OPEN_FILES = Path("/proc/self/fd")
"""Where Linux lists the files that this process has open, with their current names."""

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
        LedgerError: there is no file, or an empty one, but the folder of its locks.
    """
    locks = folder_of_locks(path)
    if locks.is_dir() and not _size(path):  # in this order: another run may be making both
        state = "empty" if path.exists() else "gone"
        raise LedgerError(
            f"The ledger {path} is {state}: the folder {locks.name} beside it shows that there was "
            "one. With a new one, a run would buy every answer again.",
            "Move it back, or name the place where it is now: --ledger PATH. To begin a new one "
            f"and buy everything again, remove that folder: rm -r {quote(str(locks))}",
        )


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


class Place:
    """Where a ledger was when it was opened.

    Everything that was bought since then may be in its log alone. SQLite goes on writing to a log
    that was deleted, and after a kill nobody would find it.

    Args:
        path: the file, which exists, and is open.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.resolve()
        self._opened = path.stat()
        beside = (self._path.with_name(self._path.name + end) for end in LOG)
        self._log = [(each, each.stat()) for each in beside if each.exists()]

    @property
    def is_kept(self) -> bool:
        """Whether the file and its log are still there; this takes microseconds."""
        return self._is_at(self._path) and self._lost_log() is None

    def lost(self) -> LedgerError:
        """Return the error while attempts under way are still being recorded."""
        return LedgerError(f"The ledger {self._path} {self._fate()} while it was in use.", "")

    def saved(self, connection: sqlite3.Connection) -> LedgerError:
        """Ensure that what was written is in a file with a name; return the error that names it.

        Args:
            connection: an open connection to the ledger, which nobody uses.
        """
        message = self.lost().message
        try:
            # Otherwise the log would stay behind, and another ledger there would use it.
            (busy, *_), *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            if not busy and self._is_at(self._path):
                return LedgerError(
                    f"{message} Everything bought is in the ledger itself now.",
                    "Leave the files beside a ledger alone. Run the same command: it continues.",
                )
            # While another program reads what was there before, the file does not have the rest.
            place = (not busy and self._new_name()) or self._copied(connection)
        except (sqlite3.Error, OSError) as error:
            return LedgerError(
                f"{message} What was bought since it was opened is lost: {error}.",
                "Restore the ledger from a copy before the next run.",
            )
        move = "Remove the file that is there now, then move" if self._path.exists() else "Move"
        return LedgerError(
            f"{message} Everything bought is in {place}.",
            f"{move} {place} to {self._path}, then run the same command: it continues.",
        )

    def _lost_log(self) -> Path | None:
        """Return the file beside the ledger that was deleted or replaced, if any."""
        return next((each for each, opened in self._log if not is_file_at(each, opened)), None)

    def _fate(self) -> str:
        if self._is_at(self._path) and (log := self._lost_log()):
            return f"lost its file {log.name}"
        if self._path.exists():
            return "was replaced by another file"
        place = self._new_name()
        return f"was moved to {place}" if place else "was deleted"

    def _new_name(self) -> Path | None:
        """Return the file's current path; None if it has none, or none can be found."""
        with suppress(OSError):
            for link in OPEN_FILES.iterdir():
                with suppress(OSError):
                    place = link.readlink()
                    if os.path.samestat(link.stat(), self._opened) and self._is_at(place):
                        return place
        return None

    def _copied(self, connection: sqlite3.Connection) -> Path:
        folder = self._path.parent if self._path.parent.is_dir() else machine_folder()
        names = (f"{self._path.name}.rescued-{number}" for number in range(1, 1000))
        place = next(folder / name for name in names if not (folder / name).exists())
        place.touch(self._opened.st_mode & 0o777)
        with closing(sqlite3.connect(place)) as copy:
            connection.backup(copy)
        return place

    def _is_at(self, place: Path) -> bool:
        return is_file_at(place, self._opened)
