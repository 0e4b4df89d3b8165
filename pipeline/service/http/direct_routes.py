"""Passes calls to their endpoints directly: Starlette's router takes longer than the endpoints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from starlette.requests import Request
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from pipeline.service.errors import RefusedError
from pipeline.service.http.exception_handlers import refused

__all__ = ["DirectRoutes"]


class DirectRoutes:
    """Answers requests for paths without parameters; the application answers all others."""

    def __init__(self, app: ASGIApp, routes: Sequence[Route]) -> None:
        self._app = app
        self._routes: Mapping[tuple[str, str], Route] = {
            (method, route.path): route for route in routes for method in route.methods or ()
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        route = scope["type"] == "http" and self._routes.get((scope["method"], scope["path"]))
        if not route:
            await self._app(scope, receive, send)
            return
        scope["route"] = route
        try:
            response = await route.endpoint(Request(scope, receive))
        except RefusedError as error:
            response = refused(error)
        await response(scope, receive, send)
