"""Writes a line for each request: nothing in it is secret, and nothing is what somebody buys."""

from __future__ import annotations

import logging
import time
from urllib.parse import quote

from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["AccessLog"]

log = logging.getLogger("pipeline.service")


class AccessLog:
    """Logs method, path, status and milliseconds; the time is the log's own."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and log what became of it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 500  # what an exception becomes further out
        start = time.perf_counter()

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            spent = 1000 * (time.perf_counter() - start)
            # Quoted, so that nobody writes lines of their own into the log.
            log.info("%s %s %d %.1f ms", scope["method"], quote(scope["path"]), status, spent)
