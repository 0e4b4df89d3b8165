"""Where a visitor is sent on to: only ever to a page of this site."""

from __future__ import annotations

from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from pipeline.service.web.visitors import Visitor

__all__ = ["HOME", "redirect", "redirect_to_log_in", "safe_path"]

HOME = "/dashboard"

PLACES = frozenset((HOME, "/account", "/docs", "/statement", "/try"))
"""Where one can be sent after logging in."""


def safe_path(path: str) -> str:
    """Return a path if it is one of ours, else the dashboard's: nobody is led astray."""
    return path if path in PLACES else HOME


def redirect(path: str, visitor: Visitor, session_seconds: int | None = None) -> Response:
    """Send a visitor on.

    Args:
        path: where to; one of ours.
        visitor: who.
        session_seconds: how long a session that begins now lasts; None: none begins.
    """
    response = RedirectResponse(path, 303)
    visitor.give_cookies(response, session_seconds)
    return response


def redirect_to_log_in(request: Request, visitor: Visitor) -> Response:
    """Send a visitor without a session to get one, and from there to where they wanted to go."""
    return redirect(f"/login?{urlencode({'next': safe_path(request.scope['path'])})}", visitor)
