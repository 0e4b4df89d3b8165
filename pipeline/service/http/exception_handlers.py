"""Answers errors: with the API's error body, or with a page for a browser."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from pipeline.service.errors import INTERNAL_ERROR, RefusedError, ValidationError
from pipeline.service.http.messages import ENDPOINTS, JSON, failure

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
        error_type = ValidationError.error if status < 500 else INTERNAL_ERROR
        return envelope(status, error_type, message, headers)

    async def failed(request: Request) -> Response:
        """Answer without details, which are in the log."""
        if _is_for_people(request):
            return page(request, 500)
        return envelope(500, INTERNAL_ERROR, FAILED.format(request.state.request_id))

    app.add_exception_handler(RefusedError, refused)
    app.add_exception_handler(HTTPException, not_routed)
    return failed


def envelope(
    status: int, error: str, message: str, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a response with the API's error body."""
    return Response(failure(error, message), status, headers, JSON)


def prefers_html(accept: str) -> bool:
    """Return whether an Accept header asks for HTML and not for JSON, as browsers do."""
    return "text/html" in accept.lower() and JSON not in accept.lower()


async def refused(_: Request, error: Exception) -> Response:
    """Return the response to a request that is refused."""
    assert isinstance(error, RefusedError)  # noqa: S101 - what it is registered for
    return envelope(error.status, error.error, error.message, error.headers)


def _is_for_people(request: Request) -> bool:
    path = request.scope["path"]
    return not path.startswith(API) and prefers_html(",".join(request.headers.getlist("Accept")))


def _to_do(request: Request, detail: str, allowed: str | None) -> str:
    if allowed is None or request.scope["path"].startswith(API):
        return f"{detail}. Send POST to one of {', '.join(ENDPOINTS)}."
    return f"{detail}. This path takes {allowed}."
