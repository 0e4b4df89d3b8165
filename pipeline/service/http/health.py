"""`/health`: whether the service can answer; without a key and without a limit."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Awaitable, Callable

from pipeline.service.accounts import Accounts
from pipeline.service.errors import UnavailableError

__all__ = ["health"]

log = logging.getLogger("pipeline.service")


def health(accounts: Accounts) -> Callable[[], Awaitable[dict[str, str]]]:
    """Return the endpoint, which fails if the accounts cannot be read."""

    async def status() -> dict[str, str]:
        try:
            accounts.check()
        except sqlite3.Error as error:
            log.error("the accounts cannot be read", exc_info=error)
            raise UnavailableError("The accounts cannot be read. See the log.") from error
        return {"status": "ok"}

    return status
