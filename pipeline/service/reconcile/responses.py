"""The responses of the Reconciliation API: JSON that pages of any origin can read (CORS)."""

from __future__ import annotations

import json
from typing import Any

from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from pipeline.service.errors import ValidationError
from pipeline.service.http.paths import RECONCILE
from pipeline.service.http.requests import JSON

__all__ = ["AnyOrigin", "json_response", "refuse_jsonp"]


SECONDS = 600
"""How long a browser may keep the answer to a preflight request."""


def json_response(content: Any) -> Response:
    """Return JSON in ASCII, which may quote unpaired surrogates of the request."""
    return Response(json.dumps(content), media_type=JSON)


def refuse_jsonp(request: Request) -> None:
    """Refuse to write a script, which would run in the page that asks.

    Raises:
        ValidationError: the request asks for one.
    """
    if "callback" in request.query_params:
        raise ValidationError("There is no JSONP here. Leave callback out: CORS allows any origin.")


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
