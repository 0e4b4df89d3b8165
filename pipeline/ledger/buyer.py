"""One buyer at a time: two would pass the limit, and pay for the same call twice."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from filelock import FileLock, Timeout

from pipeline.errors import LedgerError
from pipeline.folders import state_folder

__all__ = ["buyer_lock", "job_lock", "ledger_lock"]

WAIT = "Let this one wait for it with --wait, or "
LATER = "run it again when the other is done."

log = logging.getLogger(__name__)


@contextmanager
def buyer_lock(endpoint: str, account: str, wait: bool) -> Iterator[None]:
    """Be the only one on this machine who buys from an endpoint with a key.

    Args:
        endpoint: the canonical base URL.
        account: the fingerprint of the key.
        wait: whether to wait for another buyer to end.

    Raises:
        LedgerError: another process is buying with this key, or no lock can be had.
        SettingsError: the user has no home folder for the lock.
    """
    taken = LedgerError("Another run is buying with this key.", WAIT + LATER)
    with _held(_in_state_folder("buyer", endpoint, account), taken, wait):
        yield


@contextmanager
def ledger_lock(ledger: Path, endpoint: str, wait: bool) -> Iterator[None]:
    """Be the only one, of all who use a ledger, who buys from an endpoint for it.

    The lock stands beside the ledger, so that other users of it see it too, with other keys and
    from other machines that share the disk.

    Args:
        ledger: the ledger's file, which is there.
        endpoint: the canonical base URL.
        wait: whether to wait for another buyer to end.

    Raises:
        LedgerError: another process is buying for this ledger, or no lock can be had.
    """
    file = ledger.resolve()
    taken = LedgerError(
        f"Another process holds the ledger {ledger} for {endpoint}: a run with another key, or "
        "ledger settle or prune.",
        f"{WAIT}name another ledger: --ledger PATH.",
    )
    place = file.with_name(f"{file.name}.buyer-{_named(endpoint)}.lock")
    with _held(place, taken, wait, mode=file.stat().st_mode & 0o666 | 0o600):
        yield


@contextmanager
def job_lock(ledger: Path, endpoint: str, identity: str, wait: bool) -> Iterator[None]:
    """Be the only one on this machine who is at a job: two would forget each other's first rows.

    Args:
        ledger: the ledger's file.
        endpoint: the canonical base URL.
        identity: what the job is known by.
        wait: whether to wait for the other one to end.

    Raises:
        LedgerError: another process is at this job, or no lock can be had.
        SettingsError: the user has no home folder for the lock.
    """
    taken = LedgerError(
        "Another run is at this job: the same output of the same input.", WAIT + LATER
    )
    with _held(_in_state_folder("job", endpoint, str(ledger.resolve()), identity), taken, wait):
        yield


def _in_state_folder(kind: str, *names: str) -> Path:
    return state_folder() / "locks" / f"{kind}-{_named(*names)}.lock"


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
        raise LedgerError(
            f"No lock can be made in {place.parent}: {error.strerror or error}.",
            "Make the folder writable, or name another: --ledger PATH for the ledger, "
            "XDG_STATE_HOME for the locks of this machine.",
        ) from error
    try:
        yield
    finally:
        lock.release()
