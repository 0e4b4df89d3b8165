"""What browsers need: the security headers of every response, and the files that pages load."""

from __future__ import annotations

from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)

POLICY_NAME = "content-security-policy"

HEADERS = {
    "cache-control": "no-store",
    POLICY_NAME: POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
}

HTTPS_ONLY = ("strict-transport-security", "max-age=31536000")
"""A year, for this host only: other hosts of the domain may belong to someone else."""


class SecurityHeaders:
    """Adds the security headers to all responses of an application."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and add the headers to its response."""

        async def adding(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if POLICY_NAME not in headers:  # else it says who may frame the page
                    headers["X-Frame-Options"] = "DENY"
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if scope.get("scheme") == "https":
                    headers.setdefault(*HTTPS_ONLY)
            await send(message)

        await self._app(scope, receive, adding)


class PageFiles(StaticFiles):
    """The files in the folders ``static`` of some packages, which pages load.

    Browsers keep them for a while: the keys of a page need its script.
    """

    def __init__(self, *packages: str) -> None:
        # Some installers make each file a link into a cache of theirs.
        folders = [(package, "static") for package in packages]
        super().__init__(packages=folders, follow_symlink=True)

    def file_response(self, *args: Any, **more: Any) -> Response:
        """Return a file."""
        response = super().file_response(*args, **more)
        response.headers["Cache-Control"] = "max-age=300"
        return response
