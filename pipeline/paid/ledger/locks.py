"""Locks for one buyer at a time: two would exceed the limit, and pay for a call twice."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import LOCK_NB, LOCK_SH, flock
from hashlib import sha256
from pathlib import Path

from filelock import FileLock, Timeout

from pipeline.errors import LedgerError
from pipeline.files.directories import machine_folder
from pipeline.paid.ledger.place import folder_of_locks
from pipeline.rate import duration

__all__ = ["buyer_lock", "is_worked_on", "job_lock", "ledger_lock"]

WAIT = "Wait for it with --wait, or "
LATER = "run this again when the other has ended."

SECONDS_BETWEEN_NOTES = 60.0

log = logging.getLogger(__name__)


@contextmanager
def buyer_lock(base_url: str, key_fingerprint: str, wait: bool) -> Iterator[None]:
    """Lock a key at a base URL, for this user on this machine, whatever the ledger.

    Args:
        base_url: the canonical base URL.
        key_fingerprint: names the key.
        wait: whether to wait for another buyer to end.

    Raises:
        LedgerError: another process buys with this key, or the lock cannot be created.
        SettingsError: the user has no home folder for the lock.
    """
    taken = LedgerError("Another run is buying with this key.", WAIT + LATER)
    place = machine_folder() / "locks" / f"buyer-{_named(base_url, key_fingerprint)}.lock"
    with _held(place, taken, wait):
        yield


@contextmanager
def ledger_lock(ledger: Path, base_url: str, wait: bool) -> Iterator[None]:
    """Lock a ledger for buying from a base URL.

    The lock file is beside the ledger, so that buyers with other keys, and on other machines that
    share the disk, see it too.

    Args:
        ledger: the ledger's file, which exists.
        base_url: the canonical base URL.
        wait: whether to wait for another buyer to end.

    Raises:
        LedgerError: another process buys for this ledger, or the lock cannot be created.
    """
    taken = LedgerError(
        f"Another process uses the ledger {ledger} for {base_url}: a run with another key, or "
        "ledger settle or prune.",
        f"{WAIT}name another ledger: --ledger PATH.",
    )
    file = ledger.resolve()
    place = file.with_name(f"{file.name}.buyer-{_named(base_url)}.lock")
    with _held(place, taken, wait, _mode(ledger)):
        yield


@contextmanager
def job_lock(ledger: Path, base_url: str, identity: str, wait: bool) -> Iterator[None]:
    """Lock a job: two runs of it would delete each other's first rows.

    The lock file is beside the ledger like that of `ledger_lock`, in a folder for all jobs.

    Args:
        ledger: the ledger's file, which exists.
        base_url: the canonical base URL.
        identity: what identifies the job.
        wait: whether to wait for the other run to end.

    Raises:
        LedgerError: another process works on this job, or the lock cannot be created.
    """
    taken = LedgerError(
        "Another run works on this job: the same output of the same input.", WAIT + LATER
    )
    place = _lock_of_job(ledger, base_url, identity)
    _make_folder(place.parent, ledger)
    with _held(place, taken, wait, _mode(ledger)):
        yield


def is_worked_on(ledger: Path, base_url: str, identity: str) -> bool:
    """Return whether a run holds the lock of a job, without changing anything."""
    place = _lock_of_job(ledger, base_url, identity)
    try:
        with place.open("rb") as lock:  # shared, so that two of these do not see each other
            flock(lock, LOCK_SH | LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # nobody has locked it yet
        return False
    return False


def _lock_of_job(ledger: Path, base_url: str, identity: str) -> Path:
    return folder_of_locks(ledger) / f"job-{_named(base_url, identity)}.lock"


def _make_folder(folder: Path, ledger: Path) -> None:
    """Make the folder of the jobs' locks; who may use it is as for the locks beside the ledger."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        if not folder.exists():
            folder.mkdir(exist_ok=True)
            folder.chmod(folder.parent.stat().st_mode & 0o777)
    except OSError as error:
        raise LedgerError(
            f"The ledger {ledger} cannot be used: the folder {folder.name} beside it cannot be "
            f"created: {error.strerror or error}.",
            "Make its folder writable, or name another ledger: --ledger PATH.",
        ) from error


def _mode(ledger: Path) -> int:
    """Return the mode of a lock: whoever may write the ledger may take it."""
    return ledger.stat().st_mode & 0o666 | 0o600 if ledger.exists() else 0o600


def _named(*names: str) -> str:
    """Return a lock's name, which reveals nothing."""
    return sha256("\n".join(names).encode()).hexdigest()[:16]


def _wait(lock: FileLock) -> None:
    """Take a lock that another process holds, and log now and then for how long that takes."""
    since = time.monotonic()
    while True:
        try:
            lock.acquire(timeout=SECONDS_BETWEEN_NOTES)
        except Timeout:
            waited = duration(time.monotonic() - since)
            log.info(
                "Still waiting for the other process, for %s now. Ctrl-C stops waiting.", waited
            )
        else:
            return


@contextmanager
def _held(place: Path, taken: LedgerError, wait: bool, mode: int = 0o600) -> Iterator[None]:
    """Hold a lock, which the system releases however the process ends."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(place, mode=mode)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            if not wait:
                raise taken from None
            log.info("%s Waiting for it.", taken.message)
            _wait(lock)
    except OSError as error:
        raise LedgerError(
            f"No lock can be created in {place.parent}: {error.strerror or error}.",
            "Make the folder writable, or name another: --ledger PATH for the locks of a ledger, "
            "HOME for those of this user.",
        ) from error
    try:
        yield
    finally:
        lock.release()
