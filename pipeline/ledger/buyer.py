"""One buyer per account and machine: two would pass the limit and pay for the same call twice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256

import platformdirs
from filelock import FileLock, Timeout

from pipeline.errors import LedgerError

__all__ = ["buyer_lock"]


@contextmanager
def buyer_lock(endpoint: str, account: str, wait: bool) -> Iterator[None]:
    """Be the only one on this machine who buys from an endpoint with a key.

    Args:
        endpoint: the canonical base URL.
        account: the fingerprint of the key.
        wait: whether to wait for another buyer to end.

    Raises:
        LedgerError: another process is buying with this key, or no lock can be had.
    """
    lock = _acquired(f"{endpoint}\n{account}", wait)
    try:
        yield
    finally:
        lock.release()


def _acquired(name: str, wait: bool) -> FileLock:
    folder = platformdirs.user_state_path("tender-pipeline") / "locks"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        place = folder / f"buyer-{sha256(name.encode()).hexdigest()[:16]}.lock"
        lock = FileLock(place, blocking=wait)
        lock.acquire()
    except Timeout as error:
        raise LedgerError(
            "Another run is buying with this key.",
            "Let this one wait for it with --wait, or run it again when the other is done.",
        ) from error
    except OSError as error:
        raise LedgerError(
            f"No lock can be made in {folder}: {error.strerror or error}.",
            "Make the folder writable, or set XDG_STATE_HOME to one that is.",
        ) from error
    return lock
