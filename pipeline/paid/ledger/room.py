"""Keeps room for answers beside a ledger, and keeps them there if it cannot be written."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from io import FileIO
from pathlib import Path

import msgspec
from msgspec.structs import asdict

from pipeline.answers import System
from pipeline.errors import LedgerError
from pipeline.paid.ledger.database import ANOTHER, Database
from pipeline.paid.ledger.locks import mode_beside, open_beside
from pipeline.paid.ledger.schema import KEEP, UNDER_WAY, State

SPARE_PER_WORKER = 1 << 16
"""Bytes: room for the ends of all attempts under way."""

TAKE_IN = f"""
    UPDATE attempts SET state = :state, status = :status, error = :error, cost_usd = :cost_usd,
        settled_at = :settled_at
    WHERE attempt_id = :attempt AND system = :system AND digest = :digest AND sent_at = :sent_at
        AND {UNDER_WAY}
"""  # noqa: S608 - a constant


class UnwrittenEnd(msgspec.Struct, frozen=True):
    """The end of an attempt that the ledger could not record: a line of a spare file.

    The first four attributes identify the attempt; all are as in the ledger.
    """

    attempt: int
    system: System
    digest: bytes
    sent_at: float
    settled_at: float
    state: State
    status: int | None
    error: str | None
    cost_usd: str | None
    body: bytes | None


def append_durably(file: FileIO, data: bytes) -> None:
    """Write all of some data to the disk; an `OSError` means that not all of it is there."""
    while data:  # on a full disk, a write succeeds in part before one fails
        data = data[file.write(data) or 0 :]
    os.fsync(file.fileno())


def place_of_spare(ledger: Path, address: str) -> Path:
    """Return the path of the spare file of a ledger's one buyer at an address."""
    file = ledger.resolve()
    return file.with_name(f"{file.name}.answers-{sha256(address.encode()).hexdigest()[:16]}")


@contextmanager
def spare_file(ledger: Path, path: Path, workers: int) -> Iterator[FileIO]:
    """Make a file beside a ledger for the ends that it cannot record, such as on a full disk.

    It consists of empty lines, whose room the ends then take. It is deleted at the end, unless it
    has any.

    Args:
        ledger: the ledger's file, for messages.
        path: the path of the file.
        workers: the maximum number of attempts under way at once.

    Raises:
        LedgerError: the disk has no room even for that.
    """
    with _translate_no_room(ledger):
        file = open_beside(path, mode_beside(ledger))
        file.truncate()  # a run that was killed may have left it: its ends are in the ledger
    try:
        with _translate_no_room(ledger):
            try:
                append_durably(file, b"\n" * (workers * SPARE_PER_WORKER))
            finally:
                file.seek(0)
        yield file
    finally:
        if not file.tell():
            with suppress(OSError):  # it is in nobody's way
                path.unlink()
        file.close()


def take_in(database: Database, path: Path) -> None:
    """Record the ends in a spare file, if there is one, and leave the file as it is.

    An end that the ledger has, or whose attempt it has not, is passed over, and so is a line that
    is not complete: a run may be writing it, or the machine crashed.

    Raises:
        LedgerError: the file cannot be read, or the ledger not be written.
    """
    try:
        lines = [*filter(None, path.read_bytes().rstrip(b"\n").split(b"\n"))]
    except FileNotFoundError:
        return
    except OSError as error:
        raise LedgerError(
            f"The answers in {path}, which belong to the ledger, cannot be read: {error}.",
            "Make the file readable.",
        ) from error
    if not lines:
        return
    with database.transaction() as connection:
        for line in lines:
            with suppress(msgspec.MsgspecError):
                end = msgspec.json.decode(line, type=UnwrittenEnd)
                if connection.execute(TAKE_IN, asdict(end)).rowcount and end.body is not None:
                    connection.execute(KEEP, (end.attempt, end.body))


@contextmanager
def _translate_no_room(ledger: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        first = "Free some space on the disk" if full else "Make the folder writable"
        raise LedgerError(
            f"The folder of the ledger {ledger} has no room: {error.strerror or error}. "
            "Nothing was sent.",
            f"{first}, {ANOTHER}",
        ) from error
