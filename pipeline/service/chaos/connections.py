"""Lets the ASGI app reset or close its TCP connection.

ASGI has no message for that. So the protocol wraps the app once for each connection, and puts
itself into the scope of its requests.
"""

from __future__ import annotations

import asyncio
import socket
import struct

from starlette.types import ASGIApp, Receive, Scope, Send

from pipeline.service.http.protocol import BoundedHttp

__all__ = ["DroppableConnections", "connection_of"]

KEY = "pipeline.connection"

RESET_ON_CLOSE = struct.pack("ii", 1, 0)
"""SO_LINGER with a time of 0: closing sends a reset (socket(7))."""


class DroppableConnections(BoundedHttp):
    """Speaks HTTP as the service does; `connection_of` returns it to the app."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wrap the app for a new connection."""
        super().connection_made(transport)
        self.app = _with_connection(self.app, self)

    def reset(self) -> None:
        """Reset the connection: unsent data is lost."""
        if not self.transport.is_closing():  # else the client has closed it
            connected = self.transport.get_extra_info("socket")
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
            self.transport.abort()

    def close(self) -> None:
        """Close it once everything written is sent, even in the middle of a response."""
        self.transport.close()

    def close_if_idle(self) -> bool:
        """Close it unless a request is under way on it; return whether it was closed."""
        if self.transport.is_closing() or not self.cycle.response_complete:
            return False
        self.timeout_keep_alive_handler()
        return True


def connection_of(scope: Scope) -> DroppableConnections:
    """Return the connection of a request.

    Raises:
        RuntimeError: the server runs with another protocol.
    """
    connection = scope.get("extensions", {}).get(KEY)
    if not isinstance(connection, DroppableConnections):
        raise RuntimeError("Run uvicorn with http=DroppableConnections.")
    return connection


def _with_connection(app: ASGIApp, connection: DroppableConnections) -> ASGIApp:
    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        scope["extensions"] = {**scope.get("extensions", {}), KEY: connection}
        await app(scope, receive, send)

    return wrapped
