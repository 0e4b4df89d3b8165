"""One buyer at a time: two would pass the limit, and pay for the same call twice."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from filelock import FileLock, Timeout

from pipeline.errors import LedgerError
from pipeline.files.directories import machine_folder

__all__ = ["buyer_lock", "job_lock", "ledger_lock"]

WAIT = "Let this one wait for it with --wait, or "
LATER = "run it again when the other is done."

log = logging.getLogger(__name__)


@contextmanager
def buyer_lock(base_url: str, key_fingerprint: str, wait: bool) -> Iterator[None]:
    """Be the only one of this machine's user who buys from an endpoint with a key.

    The lock holds whatever ledger is bought for.

    Args:
        base_url: the canonical base URL.
        key_fingerprint: the fingerprint of the key.
        wait: whether to wait for another buyer to end.

    Raises:
        LedgerError: another process is buying with this key, or no lock can be had.
        SettingsError: the user has no home folder for the lock.
    """
    taken = LedgerError("Another run is buying with this key.", WAIT + LATER)
    place = machine_folder() / "locks" / f"buyer-{_named(base_url, key_fingerprint)}.lock"
    with _held(place, taken, wait):
        yield


@contextmanager
def ledger_lock(ledger: Path, base_url: str, wait: bool) -> Iterator[None]:
    """Be the only one, of all who use a ledger, who buys from an endpoint for it.

    The lock stands beside the ledger, so that other users of it see it too, with other keys and
    from other machines that share the disk.

    Args:
        ledger: the ledger's file, which is there.
        base_url: the canonical base URL.
        wait: whether to wait for another buyer to end.

    Raises:
        LedgerError: another process is buying for this ledger, or no lock can be had.
    """
    taken = LedgerError(
        f"Another process holds the ledger {ledger} for {base_url}: a run with another key, or "
        "ledger settle or prune.",
        f"{WAIT}name another ledger: --ledger PATH.",
    )
    file = ledger.resolve()
    place = file.with_name(f"{file.name}.buyer-{_named(base_url)}.lock")
    with _held(place, taken, wait, _mode(ledger)):
        yield


@contextmanager
def job_lock(ledger: Path, base_url: str, identity: str, wait: bool) -> Iterator[None]:
    """Be the only one who is at a job: two would forget each other's first rows.

    The lock stands beside the ledger like that of `ledger_lock`, in a folder, since there may be
    any number of jobs.

    Args:
        ledger: the ledger's file, which need not be there yet.
        base_url: the canonical base URL.
        identity: what the job is known by.
        wait: whether to wait for the other one to end.

    Raises:
        LedgerError: another process is at this job, or no lock can be had.
    """
    taken = LedgerError(
        "Another run is at this job: the same output of the same input.", WAIT + LATER
    )
    with _held(_lock_of_job(ledger, base_url, identity), taken, wait, _mode(ledger)):
        yield


def _lock_of_job(ledger: Path, base_url: str, identity: str) -> Path:
    file = ledger.resolve()
    folder = file.with_name(f"{file.name}.locks")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if not folder.exists():
            folder.mkdir(exist_ok=True)
            folder.chmod(file.parent.stat().st_mode & 0o777)  # who may lock there may lock here
    except OSError as error:
        raise LedgerError(
            f"The ledger {ledger} cannot be used: no folder {folder.name} can be made beside it: "
            f"{error.strerror or error}.",
            "Make its folder writable, or name another ledger: --ledger PATH.",
        ) from error
    return folder / f"job-{_named(base_url, identity)}.lock"


def _mode(ledger: Path) -> int:
    """Let those take a lock who may write the ledger."""
    return ledger.stat().st_mode & 0o666 | 0o600 if ledger.exists() else 0o600


def _named(*names: str) -> str:
    """Name a lock without saying whose it is."""
    return sha256("\n".join(names).encode()).hexdigest()[:16]


@contextmanager
def _held(place: Path, taken: LedgerError, wait: bool, mode: int = 0o600) -> Iterator[None]:
    """Hold a lock, which the system lets go when the process ends, however it does."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(place, mode=mode)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            if not wait:
                raise taken from None
            log.info("%s Waiting for it.", taken.message)
            lock.acquire()
    except OSError as error:
        raise _no_lock(place.parent, error) from error
    try:
        yield
    finally:
        lock.release()


def _no_lock(folder: Path, error: OSError) -> LedgerError:
    return LedgerError(
        f"No lock can be made in {folder}: {error.strerror or error}.",
        "Make the folder writable, or name another: --ledger PATH for the locks of a ledger, HOME "
        "for those of this user.",
    )
