"""Adds the security headers to every response."""

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

POLICY_NAME = "Content-Security-Policy"

HEADERS = {
    "Cache-Control": "no-store",
    POLICY_NAME: POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}

HTTPS_ONLY = "max-age=31536000"
"""A year, for this host only: other hosts of the domain may belong to someone else."""


class SecurityHeaders:
    """Adds the security headers to all responses of an application."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and add the headers to its response."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def adding(message: Message) -> None:
            if message["type"] == "http.response.start":
                set_security_headers(MutableHeaders(scope=message), scope.get("scheme", "http"))
            await send(message)

        await self._app(scope, receive, adding)


def set_security_headers(headers: MutableHeaders, scheme: str) -> None:
    """Add the missing headers to a response to a request over http or https."""
    if POLICY_NAME not in headers:
        headers["X-Frame-Options"] = "DENY"  # else the response's own policy says who may frame it
    for name, value in HEADERS.items():
        headers.setdefault(name, value)
    if scheme == "https":  # browsers that see it never use http again
        headers.setdefault("Strict-Transport-Security", HTTPS_ONLY)
