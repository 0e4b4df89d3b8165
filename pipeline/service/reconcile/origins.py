"""Lets pages of any origin, such as OpenRefine's, read the responses (CORS)."""

from __future__ import annotations

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

from pipeline.service.http.paths import RECONCILE

__all__ = ["AnyOrigin"]

SECONDS = 600
"""How long a browser may keep the answer to a preflight request."""


class AnyOrigin:
    """Adds the CORS headers to the responses of the Reconciliation API, also to errors.

    The other paths stay closed to other origins: they have cookies, these have none.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._open = CORSMiddleware(
            app,
            allow_origins=["*"],
            allow_methods=["GET", "POST"],
            allow_headers=["X-API-Key"],
            expose_headers=["Retry-After", "X-Request-ID"],
            max_age=SECONDS,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        is_open = scope["type"] == "http" and scope["path"].startswith(f"{RECONCILE}/")
        await (self._open if is_open else self._app)(scope, receive, send)
