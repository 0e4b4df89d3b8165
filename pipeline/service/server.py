"""Runs the service until it is told to stop."""

from __future__ import annotations

import asyncio
import signal
import socket
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from pipeline.errors import SettingsError

__all__ = ["address", "listening", "run"]

IDLE = 75
"""Seconds that an idle connection is kept: closing one may lose a request on its way."""

PATIENCE = 10
"""Seconds that requests under way have to end when the service is stopped."""


def run(
    app: ASGIApp, listener: socket.socket, protocol: type[asyncio.Protocol] | None = None
) -> None:
    """Serve on a listening socket; return after a signal, in good order.

    Args:
        app: the service.
        listener: the socket.
        protocol: what speaks HTTP on a connection; None: uvicorn's own.
    """
    config = uvicorn.Config(
        app,
        http=protocol or "auto",
        log_config=None,
        log_level="warning",
        access_log=False,
        proxy_headers=False,  # else a caller could say which address it calls from
        server_header=False,
        ws="none",
        timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=PATIENCE,
    )
    _Server(config).run(sockets=[listener])


class _Server(uvicorn.Server):
    """Ends in good order on a signal, and well: uvicorn's own would raise it again after that."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - its shape
        """Stop taking requests; a second interrupt does not wait for those under way."""
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens.

    Raises:
        SettingsError: nothing can listen there.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends small answers at once only on sockets that name their protocol.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(2048)
    except (OSError, UnicodeError) as error:
        listener.close()
        raise SettingsError(
            f"Nothing can listen on {host} port {port}: {error}.",
            "Name another with --port or --host; --port 0 takes a free one.",
        ) from error
    return listener


def address(listener: socket.socket) -> str:
    """Return the URL that a listening socket is reached at."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
