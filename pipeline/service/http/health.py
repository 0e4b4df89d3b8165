"""Tells who watches the service whether it can work: `/health` asks no key and has no limit."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Awaitable, Callable

from pipeline.service.accounts import Accounts
from pipeline.service.errors import UnavailableError

__all__ = ["health"]

log = logging.getLogger("pipeline.service")


def health(accounts: Accounts) -> Callable[[], Awaitable[dict[str, str]]]:
    """Return the endpoint, which is well if the accounts can be read."""

    async def status() -> dict[str, str]:
        try:
            accounts.check()
        except sqlite3.Error as error:
            log.error("the accounts cannot be read", exc_info=error)
            raise UnavailableError("The accounts cannot be read. Look into the log.") from error
        return {"status": "ok"}

    return status
