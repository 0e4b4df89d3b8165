"""What becomes of requests: answers to errors, and a line in the log without secrets and texts.

Each request gets an id, which its line, its traceback and its response share.
"""

from __future__ import annotations

import logging
import sqlite3
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, Iterator, Mapping
from random import getrandbits
from typing import TypeAlias

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pipeline.json_log import FIELDS, JsonLines
from pipeline.money import plain
from pipeline.service.errors import RefusedError
from pipeline.service.http.messages import ENDPOINTS, JSON, failure
from pipeline.service.limits import parse_address

ErrorPage: TypeAlias = Callable[[Request, int], Response]
"""Returns the error page for an HTTP status."""

Answering: TypeAlias = Callable[[Request], Awaitable[Response]]
"""Returns the response to a request that failed."""

API = "/api/"
"""Paths that begin so always get the error body."""

FAILED = "The service failed. Try again later; its log calls this request {}."
"""The message of an unexpected error, with the id of the request."""


def answer_failures(app: Starlette, page: ErrorPage) -> Answering:
    """Register the handlers of an application's errors; return that of unexpected errors.

    Outside the API, a browser gets the page.
    """

    async def not_routed(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # noqa: S101 - what it is registered for
        status, headers = error.status_code, dict(error.headers or {})
        if "Allow" in headers:  # from a set
            headers["Allow"] = ", ".join(sorted(headers["Allow"].split(", ")))
        if _is_for_people(request):
            shown = page(request, status)
            shown.headers.update(headers)
            return shown
        message = _to_do(request, error.detail, headers.get("Allow"))
        return envelope(status, message, headers)

    async def failed(request: Request) -> Response:
        """Answer without details, which are in the log."""
        if _is_for_people(request):
            return page(request, 500)
        return envelope(500, FAILED.format(request.state.request_id))

    app.add_exception_handler(RefusedError, refused)
    app.add_exception_handler(HTTPException, not_routed)
    return failed


def envelope(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response with the API's error body."""
    return Response(failure(status, message), status, headers, JSON)


async def refused(_: Request, error: Exception) -> Response:
    """Return the response to a request that is refused."""
    assert isinstance(error, RefusedError)  # noqa: S101 - what it is registered for
    return envelope(error.status, error.message, error.headers)


def _is_for_people(request: Request) -> bool:
    """Return whether a request outside the API asks for HTML and not for JSON, as browsers do."""
    accept = ",".join(request.headers.getlist("Accept")).lower()
    is_outside = not request.scope["path"].startswith(API)
    return is_outside and "text/html" in accept and JSON not in accept


def _to_do(request: Request, detail: str, allowed: str | None) -> str:
    if allowed is None or request.scope["path"].startswith(API):
        return f"{detail}. Send POST to one of {', '.join(ENDPOINTS)}."
    return f"{detail}. This path takes {allowed}."


TELLING = (OSError, sqlite3.Error)
"""Errors whose messages never quote a text; others may, as `KeyError` does."""

FRAMES = 40
"""The last frames that a traceback shows; an error that many await collects those of each."""


def set_up() -> None:
    """Log to standard error, from level INFO on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(ServiceLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    # No line says where in the code and in which thread it was written; a look takes longer than
    # the rest (docs.python.org/3/howto/logging.html#optimization).
    logging._srcfile = None
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False


class ServiceLines(JsonLines):
    """Formats a record with a traceback that quotes no text."""

    def traceback(self, error: BaseException) -> str:
        """Return the traceback, the first cause first, without messages that may quote a text."""
        parts = []
        for part in _chain(error):
            kind = f"{type(part).__module__}.{type(part).__qualname__}"
            cause = f"{kind}: {part}" if isinstance(part, TELLING) else kind
            parts.append("".join(traceback.format_tb(part.__traceback__, -FRAMES)) + cause)
        return "\n".join(reversed(parts))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


HEADER = b"x-request-id"

QUIET = "/health"
"""Monitoring asks it every few seconds; only failures are logged."""

log = logging.getLogger("pipeline.service")


class AccessLog:
    """Gives requests an id, logs them, and answers those that fail.

    It is the outermost middleware but for `SecurityHeaders`, so it sees what is really sent. The id
    is in the request's state as `request_id`.
    """

    def __init__(self, app: ASGIApp, failed: Answering) -> None:
        self._app = app
        self._failed = failed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and log its outcome."""
        started, number = time.perf_counter(), f"{getrandbits(64):016x}"
        status, size = None, 0
        scope.setdefault("state", {})["request_id"] = number

        async def count(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = [*message.get("headers", ()), (HEADER, number.encode())]
                message = {**message, "headers": headers}
            else:
                size += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, count)
        except ClientDisconnect:  # nobody is left to answer
            pass
        except Exception as error:
            log.error("failed", exc_info=error, extra={FIELDS: {"request": number}})
            if status is not None:
                raise  # part of the response is sent: the server must cut it off
            response = await self._failed(Request(scope))
            await response(scope, receive, count)
        finally:
            _log_request(scope, status, size, time.perf_counter() - started)


def _log_request(scope: Scope, status: int | None, size: int, seconds: float) -> None:
    """Log the line of a request, without what it does not have."""
    # The path as the service declares it: the caller's path may contain anything.
    route: str | None = getattr(scope.get("route"), "path", None)
    level = logging.DEBUG if route == QUIET and status == 200 else logging.INFO
    if not log.isEnabledFor(level):
        return
    state = scope["state"]
    price = state.get("price_usd")
    address = parse_address((scope.get("client") or ("",))[0])
    fields = {
        "request": state["request_id"],
        "method": scope["method"],
        "route": route,
        "status": status,
        "ms": round(1000 * seconds, 1),
        "bytes": size,
        "address": address and str(address),  # a proxy may pass on something else
        "account": state.get("account_id"),
        "system": state.get("system"),
        "price_usd": None if price is None else plain(price),
    }
    told = {name: value for name, value in fields.items() if value is not None}
    log.log(level, "request", extra={FIELDS: told})
