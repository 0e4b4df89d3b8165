"""Lets an application at the connection that a request came on: ASGI has no word for dropping it.

uvicorn tells an application nothing of its connections. So this protocol, the service's own but
for one line, wraps the application once for each connection and puts a handle of it in the scope.
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
"""SO_LINGER for no time at all: closing sends a reset instead of an orderly end (socket(7))."""


class Connection:
    """One connection of a client.

    Args:
        protocol: what speaks HTTP on it.
    """

    def __init__(self, protocol: DroppableConnections) -> None:
        self._protocol = protocol

    def reset(self) -> None:
        """Break it off: what was not sent yet is lost, and the client gets a reset."""
        transport = self._protocol.transport
        if not transport.is_closing():  # else the client has gone by itself
            connected = transport.get_extra_info("socket")
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
            transport.abort()

    def close(self) -> None:
        """End it in order once everything written is sent, whatever was promised."""
        self._protocol.transport.close()

    def close_if_idle(self) -> bool:
        """Close it if no request is under way on it that has been read; say whether it was."""
        cycle = self._protocol.cycle
        if self._protocol.transport.is_closing() or not cycle.response_complete:
            return False
        self._protocol.timeout_keep_alive_handler()
        return True


class DroppableConnections(BoundedHttp):
    """Speaks HTTP as the service does, and gives the application a handle of the connection."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection."""
        super().connection_made(transport)
        self.app = _with_connection(self.app, Connection(self))


def connection_of(scope: Scope) -> Connection:
    """Return the connection that a request came on.

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
