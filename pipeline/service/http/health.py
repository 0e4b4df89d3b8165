"""`/health`: whether the service can answer; without a key and without a limit."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Awaitable, Callable

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from pipeline.service.accounts import Accounts
from pipeline.service.errors import UnavailableError

__all__ = ["health"]

log = logging.getLogger("pipeline.service")


def health(accounts: Accounts) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint, which fails if the accounts cannot be read or written."""

    async def status(_: Request) -> Response:
        try:
            await run_in_threadpool(accounts.check)
        except sqlite3.Error as error:
            log.error("the accounts cannot be used", exc_info=error)
            raise UnavailableError("The accounts cannot be used. See the log.") from error
        return JSONResponse({"status": "ok"})

    return status
