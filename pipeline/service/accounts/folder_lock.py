"""Allows one service at a time per data folder, because rate limits are kept in memory."""

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
    """Lock a folder for one service; commands may still use its accounts.

    The system releases the lock when the process ends, even after a crash.

    Raises:
        SettingsError: another service runs on it, or it cannot be locked.
    """
    lock = FileLock(folder / FILE, mode=0o600)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock.acquire(blocking=False)
    except Timeout:
        raise SettingsError(
            f"Another service runs on the data folder {folder}.",
            "Stop it, or choose another folder: --data DIR.",
        ) from None
    except OSError as error:
        raise unusable(folder, error) from error
    try:
        yield
    finally:
        lock.release()
