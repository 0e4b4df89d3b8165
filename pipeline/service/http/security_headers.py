"""Puts on every response what keeps browsers from doing more with it than it is for."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["SecurityHeaders", "set_security_headers"]

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

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

HTTPS_ONLY = "max-age=31536000"
"""A year. Other hosts of the domain may be somebody else's, so they are not spoken for."""


class SecurityHeaders:
    """Adds the headers to whatever an application answers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and add to its response."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def adding(message: Message) -> None:
            if message["type"] == "http.response.start":
                set_security_headers(MutableHeaders(scope=message), scope.get("scheme", "http"))
            await send(message)

        await self._app(scope, receive, adding)


def set_security_headers(headers: MutableHeaders, scheme: str) -> None:
    """Add what is missing, for a response to a request that came by http or https."""
    for name, value in HEADERS.items():
        headers.setdefault(name, value)
    if scheme == "https":  # a browser that once saw it would never come by http again
        headers.setdefault("Strict-Transport-Security", HTTPS_ONLY)
