"""The paths of calls, in which an encoded slash separates nothing."""

from __future__ import annotations

import re
from urllib.parse import unquote

from starlette.types import ASGIApp, Receive, Scope, Send

from pipeline.answers import SYSTEMS, System

__all__ = ["ENDPOINTS", "RECONCILE", "SYSTEM_OF", "EncodedSlashes", "path_of"]

ENDPOINTS: dict[str, System] = {f"/api/{system}/match": system for system in SYSTEMS}
"""The paths of calls."""

RECONCILE = "/reconcile"
"""Where the paths of the Reconciliation API begin."""

SYSTEM_OF: dict[str, System] = {
    **ENDPOINTS,
    **{f"{RECONCILE}/{system}": system for system in SYSTEMS},
    **{f"{RECONCILE}/{{key}}/{system}": system for system in SYSTEMS},
}
"""The system of each route whose requests can be charged."""

ENCODED_SLASH = re.compile(r"%(?=2[Ff])")


class EncodedSlashes:
    """Routes by paths in which only a plain slash separates segments (RFC 3986, 2.2).

    A proxy that guards `/api/` does not match `/api%2fcpv/match`, so the service must not either.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] == "http":
            path = path_of(scope)
            scope = scope if path == scope["path"] else {**scope, "path": path}
        await self._app(scope, receive, send)


def path_of(scope: Scope) -> str:
    """Return the path of a request, decoded except for encoded slashes."""
    raw = (scope.get("raw_path") or b"").decode("ascii", "replace")
    marked = ENCODED_SLASH.sub("%25", raw)
    return str(scope["path"]) if marked == raw else unquote(marked)
