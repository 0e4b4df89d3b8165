"""Writes a line for each request: nothing in it is secret, and nothing is what somebody buys.

A request gets a number of its own, which its line, its traceback and its response share.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import MutableMapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pipeline.answers import SYSTEMS
from pipeline.money import plain
from pipeline.service.http.exception_handlers import Answering
from pipeline.service.http.json_logging import FIELDS

__all__ = ["HEADER", "AccessLog"]

HEADER = b"x-request-id"

METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"})

QUIET = "/health"
"""Asked every few seconds by whoever watches the service; only failures are worth a line."""

SYSTEM_OF = {f"/api/{system}/match": system for system in SYSTEMS}

log = logging.getLogger("pipeline.service")


class AccessLog:
    """Numbers requests, logs what became of each, and answers for those that fail.

    It stands around everything else, so that it sees what is really sent. The number is in the
    request's state as `request_id`.

    Args:
        app: the service.
        failed: gives the answer to a request that failed; the log has what went wrong.
    """

    def __init__(self, app: ASGIApp, failed: Answering) -> None:
        self._app = app
        self._failed = failed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and log what became of it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = _Request(scope, send)
        scope.setdefault("state", {})["request_id"] = request.number
        try:
            await self._app(scope, receive, request.send)
        except ClientDisconnect:  # there is nobody to answer
            pass
        except Exception as error:
            log.error("failed", exc_info=error, extra={FIELDS: {"request": request.number}})
            if request.status is not None:
                raise  # half an answer is sent: the server has to break it off
            response = await self._failed(Request(scope))
            await response(scope, receive, request.send)
        finally:
            request.log()


@dataclass
class _Request:
    """A request and what has been answered so far.

    Attributes:
        scope: what the server knows of it, and what the application notes in its state.
        to_client: the way to the client.
        number: what it is called in the log and in the response.
        status: the HTTP status; None before there is any.
        size: bytes of the body so far.
    """

    scope: Scope
    to_client: Send
    number: str = field(default_factory=lambda: secrets.token_hex(8))
    status: int | None = None
    size: int = 0
    _start: float = field(default_factory=time.perf_counter)

    async def send(self, message: Message) -> None:
        """Send a part of the answer."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = [*message.get("headers", ()), (HEADER, self.number.encode())]
            message = {**message, "headers": headers}
        else:
            self.size += len(message.get("body", b""))
        await self.to_client(message)

    def log(self) -> None:
        """Write the line."""
        # The path as the service declares it: a caller's own may have anything in it.
        route: str | None = getattr(self.scope.get("route"), "path", None)
        level = logging.DEBUG if route == QUIET and self.status == 200 else logging.INFO
        known = {name: value for name, value in self._fields(route) if value is not None}
        log.log(level, "request", extra={FIELDS: known})

    def _fields(self, route: str | None) -> list[tuple[str, Any]]:
        state: MutableMapping[str, Any] = self.scope["state"]
        price = state.get("price_usd")
        method = self.scope["method"]
        return [
            ("request", self.number),
            ("method", method if method in METHODS else "other"),
            ("route", route),
            ("status", self.status),
            ("ms", round(1000 * (time.perf_counter() - self._start), 1)),
            ("bytes", self.size),
            ("address", _address(self.scope)),
            ("account", state.get("account_id")),
            ("system", None if route is None else SYSTEM_OF.get(route)),
            ("price_usd", None if price is None else plain(price)),
        ]


def _address(scope: Scope) -> str | None:
    """Return where a request comes from, unless a proxy passed on what is no address."""
    try:
        return str(ip_address(scope["client"][0]))
    except (ValueError, TypeError):
        return None
