"""Logs a line for each request, without secrets and without texts.

Each request gets an id, which its line, its traceback and its response share.
"""

from __future__ import annotations

import json
import logging
import secrets
import sqlite3
import sys
import time
import traceback
from collections.abc import Iterator, MutableMapping
from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import ip_address
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pipeline.money import plain
from pipeline.progress import FIELDS
from pipeline.service.http.exception_handlers import Answering
from pipeline.service.http.messages import SYSTEM_OF
from pipeline.service.times import iso

__all__ = ["HEADER", "AccessLog", "JsonLines", "set_up"]


TELLING = (OSError, sqlite3.Error)
"""Errors whose messages never quote a text; others may, as `KeyError` does."""

FRAMES = 40
"""The last frames that a traceback shows; an error that many await collects those of each."""

FRAME = "  File "
"""Begins each frame of a traceback."""

A_MINUTE = 60.0

MOST = 100
"""Failures that are remembered: each is some kilobytes, and a message may name any file."""


def set_up() -> None:
    """Log to standard error, from level INFO on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)


class JsonLines(logging.Formatter):
    """Formats a record as one line: time, level, message, its fields and a traceback.

    Every call fails while the disk is full, so the traceback of an error that was logged within the
    last minute is its last line only.
    """

    def __init__(self) -> None:
        super().__init__()
        self._logged: dict[frozenset[str], float] = {}

    def format(self, record: logging.LogRecord) -> str:
        """Return the line without its end."""
        line: dict[str, Any] = {
            "time": iso(record.created),
            "level": record.levelname.lower(),
            "message": record.getMessage().strip(),
            **getattr(record, FIELDS, {}),
        }
        if record.exc_info and record.exc_info[1]:
            told = _traceback(record.exc_info[1])
            is_new = self._is_new(told, record.created)
            line["traceback"] = told if is_new else told.rpartition("\n")[2]
        return json.dumps(line)

    def _is_new(self, told: str, at: float) -> bool:
        """Return whether a traceback was not logged in the minute before."""
        self._logged = {
            one: when for one, when in self._logged.items() if abs(at - when) < A_MINUTE
        }
        frames = frozenset(told.split(FRAME))  # each that awaits an error adds its own once more
        is_new = frames not in self._logged
        if is_new and len(self._logged) < MOST:
            self._logged[frames] = at
        return is_new


def _traceback(error: BaseException) -> str:
    """Return the traceback, the first cause first, without messages that may quote a text."""
    return "\n".join(reversed([_told(one) for one in _chain(error)]))


def _told(error: BaseException) -> str:
    kind = f"{type(error).__module__}.{type(error).__qualname__}"
    cause = f"{kind}: {error}" if isinstance(error, TELLING) else kind
    return "".join(traceback.format_tb(error.__traceback__, -FRAMES)) + cause


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


HEADER = b"x-request-id"

METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"})

QUIET = "/health"
"""Monitoring asks it every few seconds; only failures are logged."""

KNOWN_ADDRESSES = 1_000
"""How many addresses of clients are not checked again."""

log = logging.getLogger("pipeline.service")


class AccessLog:
    """Gives requests an id, logs them, and answers those that fail.

    It is the outermost middleware but for `EncodedSlashes` and `SecurityHeaders`, so it sees what
    is really sent. The id is in the request's state as `request_id`.
    """

    def __init__(self, app: ASGIApp, failed: Answering) -> None:
        self._app = app
        self._failed = failed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and log its outcome."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = _Request(scope, send)
        scope.setdefault("state", {})["request_id"] = request.number
        try:
            await self._app(scope, receive, request.send)
        except ClientDisconnect:  # nobody is left to answer
            pass
        except Exception as error:
            log.error("failed", exc_info=error, extra={FIELDS: {"request": request.number}})
            if request.status is not None:
                raise  # part of the response is sent: the server must cut it off
            response = await self._failed(Request(scope))
            await response(scope, receive, request.send)
        finally:
            request.log()


@dataclass
class _Request:
    """A request, with an id for the log and the client, and its response so far."""

    scope: Scope
    to_client: Send
    number: str = field(default_factory=lambda: secrets.token_hex(8))
    status: int | None = None
    size: int = 0
    _start: float = field(default_factory=time.perf_counter)

    async def send(self, message: Message) -> None:
        """Send a part of the response."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = [*message.get("headers", ()), (HEADER, self.number.encode())]
            message = {**message, "headers": headers}
        else:
            self.size += len(message.get("body", b""))
        await self.to_client(message)

    def log(self) -> None:
        """Log the line."""
        # The path as the service declares it: the caller's path may contain anything.
        route: str | None = getattr(self.scope.get("route"), "path", None)
        level = logging.DEBUG if route == QUIET and self.status == 200 else logging.INFO
        if log.isEnabledFor(level):
            fields = {name: one for name, one in self._fields(route) if one is not None}
            log.log(level, "request", extra={FIELDS: fields})

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
            ("address", _address((self.scope.get("client") or ("",))[0])),
            ("account", state.get("account_id")),
            ("system", None if route is None else SYSTEM_OF.get(route)),
            ("price_usd", None if price is None else plain(price)),
        ]


@lru_cache(KNOWN_ADDRESSES)
def _address(client: str) -> str | None:
    """Return the address of the client; None if a proxy passed on something else."""
    try:
        return str(ip_address(client))
    except ValueError:
        return None
