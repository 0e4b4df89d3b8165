"""Locks for one buyer at a time: two would exceed the limit, and pay for a call twice."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from fcntl import LOCK_EX, LOCK_NB, LOCK_SH, LOCK_UN, flock
from functools import partial
from hashlib import sha256
from io import FileIO
from pathlib import Path

from pipeline.errors import LedgerError, reason
from pipeline.files.paths import machine_folder
from pipeline.paid.ledger.database import folder_of_locks
from pipeline.wording import LEDGER, option

WAIT = f"Wait for it with {option('wait', True)}, or "
LATER = "run this again when the other has ended."

SAME_JOB = "Another run works on this job: the same output of the same input."

SECONDS_BETWEEN_TRIES = 0.05

MOST_TRIES = 1_000
"""If somebody asks for a lock, or deletes its file, at each of so many tries, it counts as held."""

log = logging.getLogger(__name__)


def buyer_lock(address: str, key_fingerprint: str, wait: bool) -> AbstractContextManager[None]:
    """Lock a key at an address, for this user on this machine, whatever the ledger.

    Args:
        address: the canonical base URL, without the name of a language model.
        key_fingerprint: names the key.
        wait: whether to wait for another buyer to end.

    Raises:
        LedgerError: another process buys with this key, or the lock cannot be created.
        SettingsError: the user has no home folder for the lock.
    """
    path = machine_folder() / "locks" / f"buyer-{_name(address, key_fingerprint)}.lock"
    return _hold(path, "Another run is buying with this key.", WAIT + LATER, wait)


def ledger_lock(ledger: Path, address: str, wait: bool) -> AbstractContextManager[None]:
    """Lock a ledger for buying from an address.

    The lock file is beside the ledger, so that buyers with other keys, and on other machines that
    share the disk, see it too.

    Args:
        ledger: the ledger's file, which exists.
        address: the canonical base URL, without the name of a language model.
        wait: whether to wait for another buyer to end.

    Raises:
        LedgerError: another process buys for this ledger, or the lock cannot be created.
    """
    message = (
        f"Another process uses the ledger {ledger} for {address}: a run with another key, or "
        "ledger settle or prune."
    )
    file = ledger.resolve()
    path = file.with_name(f"{file.name}.buyer-{_name(address)}.lock")
    hint = f"{WAIT}name another ledger: {LEDGER}."
    return _hold(path, message, hint, wait, mode_beside(ledger))


def job_lock(
    ledger: Path, base_url: str, identity: str, wait: bool, message: str = SAME_JOB
) -> AbstractContextManager[None]:
    """Lock a job: two runs of it would delete each other's first rows.

    The lock file is beside the ledger like that of `ledger_lock`, in a folder for all jobs.

    Args:
        ledger: the ledger's file, which exists.
        base_url: the canonical base URL.
        identity: what identifies the job.
        wait: whether to wait for the other run to end.
        message: says that another process works on it.

    Raises:
        LedgerError: another process works on this job, or the lock cannot be created.
    """
    path = _lock_of_job(ledger, base_url, identity)
    return _hold(path, message, WAIT + LATER, wait, mode_beside(ledger))


def is_worked_on(ledger: Path, base_url: str, identity: str) -> bool:
    """Return whether a run holds the lock of a job, without changing anything."""
    return _is_held(_lock_of_job(ledger, base_url, identity))


def _is_held(path: Path) -> bool:
    """Return whether somebody holds a lock, and does not just ask the same."""
    with suppress(OSError), path.open("rb") as lock:  # else nobody has locked it yet
        try:
            flock(lock, LOCK_SH | LOCK_NB)
        except (BlockingIOError, PermissionError):  # a network file system may say either
            return True
    return False


def _lock_of_job(ledger: Path, base_url: str, identity: str) -> Path:
    return folder_of_locks(ledger) / f"job-{_name(base_url, identity)}.lock"


def mode_beside(ledger: Path) -> int:
    """Return the mode of a file beside a ledger: whoever may write the ledger may use it."""
    return ledger.stat().st_mode & 0o666 | 0o600 if ledger.exists() else 0o600


def _name(*names: str) -> str:
    """Return a lock's name, which reveals nothing."""
    return sha256("\n".join(names).encode()).hexdigest()[:16]


@contextmanager
def _hold(path: Path, message: str, hint: str, wait: bool, mode: int = 0o600) -> Iterator[None]:
    """Hold a lock while a block runs; the system releases it however the process ends.

    Args:
        path: its file, which is of use only while it is there.
        message: says that another process holds it.
        hint: what to do then.
        wait: whether to wait for that process.
        mode: the file's permissions.
    """
    # Each file is noted before it is locked. So an interrupt at any moment leaves no lock in a
    # process that goes on, such as a notebook's.
    opened: list[FileIO] = []
    try:
        try:
            _make_folder(path.parent)
            if not _try(path, mode, opened):
                if not wait:
                    raise LedgerError(message, hint)
                log.info("%s Waiting for it. Ctrl-C stops waiting.", message)
                while not _try(path, mode, opened):
                    time.sleep(SECONDS_BETWEEN_TRIES)
        except OSError as error:
            raise LedgerError(
                f"No lock can be created in {path.parent}: {reason(error)}.",
                f"Make the folder writable, or name another: {LEDGER} for the "
                "locks of a ledger, HOME for those of this user.",
            ) from error
        yield
    finally:
        for file in opened:
            flock(file, LOCK_UN)  # a process that was forked meanwhile has it open, too
            file.close()


def _make_folder(folder: Path) -> None:
    """Make a folder of locks; who may use it is as for the folder that it is in."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    if not folder.exists():
        folder.mkdir(exist_ok=True)
        folder.chmod(folder.parent.stat().st_mode & 0o777)


def _try(path: Path, mode: int, opened: list[FileIO]) -> bool:
    """Lock a file, unless another process has; again if it was deleted or asked for in between."""
    for _ in range(MOST_TRIES):
        opened.append(open_beside(path, mode))
        try:
            flock(opened[-1], LOCK_EX | LOCK_NB)
        except (BlockingIOError, PermissionError):
            opened.pop().close()
            if _is_held(path):
                return False
            continue
        if os.fstat(opened[-1].fileno()).st_nlink:
            return True
        opened.pop().close()
    return False


def open_beside(path: Path, mode: int) -> FileIO:
    """Open a file, which is created if it does not exist; its mode ignores the umask."""
    try:
        file = FileIO(path, "x+", opener=partial(os.open, mode=mode))
    except FileExistsError:  # without O_CREAT, which a shared folder may refuse for others' files
        return FileIO(path, "r+", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW))
    with suppress(PermissionError):
        os.fchmod(file.fileno(), mode)
    return file
