"""Ensures that the ledger's disk has room for the answers that are bought."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from pipeline.errors import LedgerError
from pipeline.paid.ledger.database import Database
from pipeline.wording import LEDGER, beside

__all__ = ["Reserve", "check_room", "reserved"]

PER_ATTEMPT = 1024
"""Bytes that an attempt takes, including the indexes and without its response."""

TYPICAL_RESPONSE = 3072
"""Bytes of a compressed response until the ledger has any: more than twenty matches take."""

LATEST = (
    "SELECT avg(length(body)) FROM (SELECT body FROM bodies ORDER BY attempt_id DESC LIMIT 1000)"
)

SMALLEST_RESERVE, RESERVE_PER_WORKER = 1 << 20, 1 << 16
"""Bytes: room for the ends of all attempts under way, and the pages that SQLite rewrites."""


def check_room(database: Database, calls: int, workers: int) -> None:
    """Check, before anything is bought, that the disk has room for it.

    Args:
        database: the ledger's file.
        calls: how many calls are to be bought.
        workers: the maximum number of attempts under way at once.

    Raises:
        LedgerError: the disk has too little room.
    """
    ledger = database.path
    ((found,),) = database.rows(LATEST)
    needed = calls * (PER_ATTEMPT + int(found or TYPICAL_RESPONSE)) + _size(workers)
    free = shutil.disk_usage(ledger.resolve().parent).free
    if free < needed:
        raise LedgerError(
            f"The disk of the ledger {ledger} has {_megabytes(free)} free, but the {calls:,} calls "
            f"to buy need about {_megabytes(needed)}. Nothing was sent.",
            f"Free some space, name a ledger on another disk{beside('ledger', 'PATH')}, or buy "
            f"less at a time{beside('limit_rows', 'N')}.",
        )


class Reserve:
    """Space on the ledger's disk that is released when the ledger needs it.

    Args:
        file: the file that takes the space; None: no space.
    """

    def __init__(self, file: IO[bytes] | None = None) -> None:
        self._file = file

    def release(self) -> bool:
        """Release the space; return whether there was any left."""
        file, self._file = self._file, None
        if file is None:
            return False
        file.close()  # it has no name, so its space is free now
        return True


@contextmanager
def reserved(ledger: Path, workers: int) -> Iterator[Reserve]:
    """Reserve room for the ends of the attempts under way, whatever else fills the disk.

    The file has no name: a killed process leaves nothing behind.

    Args:
        ledger: the ledger's file.
        workers: the maximum number of attempts under way at once.

    Raises:
        LedgerError: the disk has no room even for that.
    """
    try:
        file = TemporaryFile(dir=ledger.resolve().parent, buffering=0)  # noqa: SIM115 - closed below
    except OSError as error:
        raise _no_room(ledger, error) from error
    reserve = Reserve(file)
    try:
        try:
            left = os.urandom(_size(workers))  # no file system can compress this
            while left:  # on a full disk, a write succeeds in part before one fails
                left = left[file.write(left) or 0 :]
            os.fsync(file.fileno())
        except OSError as error:
            raise _no_room(ledger, error) from error
        yield reserve
    finally:
        reserve.release()


def _size(workers: int) -> int:
    return SMALLEST_RESERVE + workers * RESERVE_PER_WORKER


def _no_room(ledger: Path, error: OSError) -> LedgerError:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return LedgerError(
        f"The folder of the ledger {ledger} has no room: {error.strerror or error}. "
        "Nothing was sent.",
        f"Free some space on the disk, or name another ledger: {LEDGER}."
        if full
        else f"Make the folder writable, or name another ledger: {LEDGER}.",
    )


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
