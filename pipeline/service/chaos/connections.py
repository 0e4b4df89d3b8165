"""Gives the ASGI app a handle to its TCP connection, to reset or close it.

ASGI has no message for that. So the protocol wraps the app once for each connection, and puts the
handle into the scope of its requests.
"""

from __future__ import annotations

import asyncio
import socket
import struct

from starlette.types import ASGIApp, Receive, Scope, Send

from pipeline.service.http.protocol import BoundedHttp

__all__ = ["Connection", "DroppableConnections", "connection_of"]

KEY = "pipeline.connection"

RESET_ON_CLOSE = struct.pack("ii", 1, 0)
"""SO_LINGER with a time of 0: closing sends a reset (socket(7))."""


class Connection:
    """One connection of a client, on which `protocol` speaks HTTP."""

    def __init__(self, protocol: DroppableConnections) -> None:
        self._protocol = protocol

    def reset(self) -> None:
        """Reset it: unsent data is lost."""
        transport = self._protocol.transport
        if not transport.is_closing():  # else the client has closed it
            connected = transport.get_extra_info("socket")
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
            transport.abort()

    def close(self) -> None:
        """Close it once everything written is sent, even in the middle of a response."""
        self._protocol.transport.close()

    def close_if_idle(self) -> bool:
        """Close it unless a request is under way on it; return whether it was closed."""
        cycle = self._protocol.cycle
        if self._protocol.transport.is_closing() or not cycle.response_complete:
            return False
        self._protocol.timeout_keep_alive_handler()
        return True


class DroppableConnections(BoundedHttp):
    """Speaks HTTP as the service does, and puts a `Connection` into the scope."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wrap the app for a new connection."""
        super().connection_made(transport)
        self.app = _with_connection(self.app, Connection(self))


def connection_of(scope: Scope) -> Connection:
    """Return the connection of a request.

    Raises:
        RuntimeError: the server runs with another protocol.
    """
    connection = scope.get("extensions", {}).get(KEY)
    if not isinstance(connection, Connection):
        raise RuntimeError("Run uvicorn with http=DroppableConnections.")
    return connection


def _with_connection(app: ASGIApp, connection: Connection) -> ASGIApp:
    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        scope["extensions"] = {**scope.get("extensions", {}), KEY: connection}
        await app(scope, receive, send)

    return wrapped
