"""Runs the service until a signal."""

from __future__ import annotations

import asyncio
import errno
import logging
import resource
import signal
import socket
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from ipaddress import IPv4Network, IPv6Network, ip_network
from types import FrameType
from typing import Any, TypeAlias

import uvicorn
from starlette.types import ASGIApp

from pipeline.errors import SettingsError, reason
from pipeline.service.http.protocol import BoundedHttp

Network: TypeAlias = IPv4Network | IPv6Network

IDLE = 75
"""Seconds that an idle connection is kept; closing it may lose a request on its way."""

PATIENCE = 10
"""Seconds that requests under way have to finish when the service stops."""

UNREAD_MS = 60_000
"""Milliseconds that a client may leave a response unread; then the system drops the connection."""

MOST_CONNECTIONS = 500
"""Most systems allow a process 1,024 open files."""

OWN_FILES = 250
"""Open files besides connections: the models have 110, and 50 connections may be being refused."""

log = logging.getLogger("pipeline.service")


class Server(uvicorn.Server):
    """Shuts down cleanly on a signal; uvicorn's own server raises the signal again afterwards.

    The X-Forwarded-For of trusted proxies is believed; connections beyond the maximum get 503.

    Attributes:
        force_exit: whether a second interrupt cut off the requests under way.
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
            loop="auto",  # uvloop where it is installed: it takes less time
            http=protocol,
            log_config=None,
            log_level="error",  # the protocol logs what uvicorn warns of, with the address
            access_log=False,
            proxy_headers=bool(trusted_proxies),
            # Always set: else uvicorn reads the environment, and trusts this machine.
            forwarded_allow_ips=[str(network) for network in trusted_proxies],
            server_header=False,
            ws="none",
            lifespan="off",  # nothing to set up or tear down
            limit_concurrency=most_connections,
            timeout_keep_alive=IDLE,
            timeout_graceful_shutdown=PATIENCE,
        )
        super().__init__(config)

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until a signal."""
        asyncio.get_running_loop().set_exception_handler(_unnoticed)
        logging.getLogger("uvicorn.error").addFilter(_was_not_cut_off)
        await super().serve(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on a hang-up too, unless it is ignored, as under nohup."""
        with super().capture_signals():
            here = threading.current_thread() is threading.main_thread()
            if here and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
                signal.signal(signal.SIGHUP, self.handle_exit)
            yield

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - its shape
        """Stop taking requests; on a second interrupt, do not wait for those under way."""
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True


def _unnoticed(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:  # noqa: ARG001
    """Log an error that nobody awaited; asyncio's own line could quote a text."""
    log.error("unnoticed: %s", context["message"], exc_info=context.get("exception"))


def _was_not_cut_off(record: logging.LogRecord) -> bool:
    """Drop uvicorn's traceback of a request that a second interrupt cut off."""
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


def make_room() -> None:
    """Raise the process's limit of open files for its connections, as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = MOST_CONNECTIONS + OWN_FILES
    if hard != resource.RLIM_INFINITY:
        needed = min(needed, hard)
    if soft != resource.RLIM_INFINITY and soft < needed:  # 256 on macOS
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def networks(names: Iterable[str]) -> list[Network]:
    """Return the networks of trusted proxies.

    Args:
        names: addresses (``10.0.0.7``) and networks (``10.0.0.0/8``, ``fd00::/8``); a name may
            hold several, separated by commas.

    Raises:
        SettingsError: a name is neither.
    """
    networks_found = []
    for name in filter(None, (part.strip() for listed in names for part in listed.split(","))):
        try:
            networks_found.append(ip_network(name))
        except ValueError as error:
            raise SettingsError(
                f"The trusted proxy {name!r} is neither an address nor a network: {error}.",
                "Set --trusted-proxy to an address such as 10.0.0.7 or a network such as "
                "10.0.0.0/8.",
            ) from error
    return networks_found


def listening(host: str, port: int) -> socket.socket:
    """Return a listening socket.

    Raises:
        SettingsError: the address cannot be used.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only on sockets that name their protocol.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if sys.platform == "linux":  # connections inherit it; macOS has nothing like it
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNREAD_MS)
        listener.bind((host, port))
        listener.listen(2048)
    except (OSError, UnicodeError) as error:
        listener.close()
        of_port = isinstance(error, OSError) and error.errno in (errno.EADDRINUSE, errno.EACCES)
        raise SettingsError(
            f"Cannot listen on {host} port {port}: {reason(error)}.",
            "Choose another --port; 0 takes a free one." if of_port else "Choose another --host.",
        ) from error
    return listener


def address(listener: socket.socket) -> str:
    """Return the URL of a listening socket."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
