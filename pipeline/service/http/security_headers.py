"""Adds the security headers to every response."""

from __future__ import annotations

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

POLICY_NAME = b"content-security-policy"

HEADERS = (
    (b"cache-control", b"no-store"),
    (POLICY_NAME, POLICY.encode()),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    (b"referrer-policy", b"same-origin"),
    (b"x-content-type-options", b"nosniff"),
)

NO_FRAMES = (b"x-frame-options", b"DENY")

HTTPS_ONLY = (b"strict-transport-security", b"max-age=31536000")
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
                _add(message, scope.get("scheme", "http"))
            await send(message)

        await self._app(scope, receive, adding)


def _add(start: Message, scheme: str) -> None:
    """Add the missing headers to the start of a response to a request over http or https."""
    headers = [*start.get("headers", ())]
    names = {name.lower() for name, _ in headers}
    if POLICY_NAME not in names:
        headers.append(NO_FRAMES)  # else the response's own policy says who may frame it
    headers += [header for header in HEADERS if header[0] not in names]
    if scheme == "https" and HTTPS_ONLY[0] not in names:
        headers.append(HTTPS_ONLY)
    start["headers"] = headers
