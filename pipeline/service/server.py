"""Runs the service until it is told to stop."""

from __future__ import annotations

import asyncio
import logging
import resource
import signal
import socket
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from ipaddress import IPv4Network, IPv6Network, ip_network
from types import FrameType
from typing import Any, TypeAlias

import uvicorn
from starlette.types import ASGIApp

from pipeline.errors import SettingsError
from pipeline.service.http.protocol import BoundedHttp

__all__ = ["MOST_CONNECTIONS", "Server", "address", "listening", "make_room", "networks"]

Network: TypeAlias = IPv4Network | IPv6Network

IDLE = 75
"""Seconds that an idle connection is kept: closing one may lose a request on its way."""

PATIENCE = 10
"""Seconds that requests under way have to end when the service is stopped."""

MOST_CONNECTIONS = 500
"""A process may mostly have 1,024 files open."""

OWN_FILES = 100
"""What the process has open besides connections, and those that are just being turned away."""

log = logging.getLogger("pipeline.service")


class Server(uvicorn.Server):
    """Ends in good order on a signal, and well: uvicorn's own would raise it again after that.

    Args:
        app: the service.
        protocol: what speaks HTTP on a connection.
        trusted_proxies: who may say where a request comes from.
        most_connections: who comes with one more is told to come again.

    Attributes:
        force_exit: requests under way were not waited for, as an interrupt came twice.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        protocol: type[BoundedHttp] = BoundedHttp,
        trusted_proxies: Sequence[Network] = (),
        most_connections: int = MOST_CONNECTIONS,
    ) -> None:
        config = uvicorn.Config(
            app,
            loop="asyncio",  # uvloop would be taken if somebody has it
            http=protocol,
            log_config=None,
            log_level="error",  # what its warnings are about, the protocol logs with the address
            access_log=False,
            proxy_headers=bool(trusted_proxies),
            # Always given: uvicorn would look into the environment, and believe this machine.
            forwarded_allow_ips=[str(network) for network in trusted_proxies],
            server_header=False,
            ws="none",
            lifespan="off",  # there is nothing to begin or to end with the loop
            limit_concurrency=most_connections,
            timeout_keep_alive=IDLE,
            timeout_graceful_shutdown=PATIENCE,
        )
        super().__init__(config)

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until a signal."""
        asyncio.get_running_loop().set_exception_handler(_unnoticed)
        await super().serve(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take a hang-up for the end, too, unless it is ignored, as nohup would have it."""
        with super().capture_signals():
            here = threading.current_thread() is threading.main_thread()
            if here and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
                signal.signal(signal.SIGHUP, self.handle_exit)
            yield

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - its shape
        """Stop taking requests; a second interrupt does not wait for those under way."""
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True


def _unnoticed(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:  # noqa: ARG001
    """Log what nobody waited for; asyncio's own line quotes the error and so, maybe, a text."""
    log.error("unnoticed: %s", context["message"], exc_info=context.get("exception"))


def make_room(connections: int) -> None:
    """Let the process have so many connections open.

    Raises:
        SettingsError: the system does not allow it.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = connections + OWN_FILES
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise SettingsError(
            f"A process may have {hard:,} files open, too few for {connections:,} connections.",
            "Give a smaller --max-connections, or raise the limit: ulimit -n, LimitNOFILE=.",
        )
    if soft != resource.RLIM_INFINITY and soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def networks(names: Iterable[str]) -> list[Network]:
    """Return the networks of trusted proxies.

    Args:
        names: addresses (``10.0.0.7``) and networks (``10.0.0.0/8``, ``fd00::/8``), several in
            one with commas between them.

    Raises:
        SettingsError: one of them is neither.
    """
    return [_network(one.strip()) for name in names for one in name.split(",") if one.strip()]


def _network(name: str) -> Network:
    try:
        return ip_network(name)
    except ValueError as error:
        raise SettingsError(
            f"The trusted proxy {name!r} is no address and no network: {error}.",
            "Give --trusted-proxy an address such as 10.0.0.7 or a network such as 10.0.0.0/8.",
        ) from error


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
