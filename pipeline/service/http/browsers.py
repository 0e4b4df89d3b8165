"""What browsers need: the security headers of every response, and the files that pages load."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; "
    b"base-uri 'none'; frame-ancestors 'none'"
)

HEADERS = (
    (b"cache-control", b"no-store"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    (b"referrer-policy", b"same-origin"),
    (b"x-content-type-options", b"nosniff"),
)

FRAMING = ((b"content-security-policy", POLICY), (b"x-frame-options", b"DENY"))
"""For responses without a policy of their own, which says who may frame them."""

HTTPS_ONLY = (b"strict-transport-security", b"max-age=31536000")
"""A year, for this host only: other hosts of the domain may belong to someone else."""


class SecurityHeaders:
    """Adds the security headers to all responses of an application."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and add the headers to its response."""

        async def adding(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [*message.get("headers", ())]
                own = {name for name, _ in headers}
                headers.extend(header for header in HEADERS if header[0] not in own)
                if FRAMING[0][0] not in own:
                    headers.extend(FRAMING)
                if scope.get("scheme") == "https":
                    headers.append(HTTPS_ONLY)
                message = {**message, "headers": headers}
            await send(message)

        await self._app(scope, receive, adding)


class PageFiles(StaticFiles):
    """The files in the folders ``static`` of some packages, which pages load.

    Browsers keep them for a while: the keys of a page need its script.
    """

    def __init__(self, *packages: str) -> None:
        super().__init__(
            packages=[(package, "static") for package in packages],
            follow_symlink=True,  # some installers make each file a link into a cache
        )

    def file_response(self, *args: Any, **more: Any) -> Response:
        """Return a file."""
        response = super().file_response(*args, **more)
        response.headers["Cache-Control"] = "max-age=300"
        return response
