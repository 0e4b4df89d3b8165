"""One service at a time for each data folder: what counts towards a limit is in its memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from pipeline.errors import SettingsError
from pipeline.service.accounts.database import unusable

__all__ = ["only_service"]

FILE = "service.lock"


@contextmanager
def only_service(folder: Path) -> Iterator[None]:
    """Be the only service on a folder; commands beside it may use its accounts all the same.

    The system lets go of the lock when the process ends, however it does.

    Raises:
        SettingsError: another service runs on it, or no lock can be had.
    """
    lock = FileLock(folder / FILE, mode=0o600)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock.acquire(blocking=False)
    except Timeout:
        raise SettingsError(
            f"Another service runs on the data folder {folder}.",
            "Stop it, or name another folder: --data DIR.",
        ) from None
    except OSError as error:
        raise unusable(folder, error) from error
    try:
        yield
    finally:
        lock.release()
