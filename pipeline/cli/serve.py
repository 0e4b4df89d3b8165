"""``tender-pipeline serve``: the interface's server on this machine, to rehearse paid runs."""

from __future__ import annotations

import logging
import signal
import socket
import sys
from contextlib import closing
from pathlib import Path
from types import FrameType
from typing import Any

import click
import uvicorn

from pipeline.errors import SettingsError
from pipeline.folders import data_folder
from pipeline.rate import parse_rate
from pipeline.service import METADATA, STARTING_BALANCE, Accounts, create_app, engine_matchers

__all__ = ["serve"]

IDLE = 75
"""Seconds that an idle connection is kept: closing one may lose a request on its way."""

PATIENCE = 10
"""Seconds that requests under way have to end when the service is stopped."""

log = logging.getLogger("pipeline.service")


# The prefix keeps TENDER_PIPELINE_RATE, which is about what a run sends, from what is taken here.
@click.command(
    short_help="Serve the interface on this machine, to rehearse paid runs.",
    context_settings={"auto_envvar_prefix": "TENDER_PIPELINE_SERVE", "show_default": True},
)
@click.option("--host", default="127.0.0.1", help="The address to listen on.")
@click.option("--port", default=8000, type=click.IntRange(0, 65535), help="0 takes a free one.")
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder of the accounts.  [default: in the user's data folder]",
)
@click.option(
    "--metadata", type=click.Choice(METADATA), default="detailed", help="How costs are told."
)
@click.option("--rate", default="100/min", help="Requests taken of an account, or none: no limit.")
@click.option("--demo-rate", default="10/hour", help="The same for an address without a key.")
@click.option("--new-account", is_flag=True, help="Open an account, print its key and exit.")
def serve(**values: Any) -> int:
    """Answer the service's interface with the embedded engine.

    Calls are priced and charged to accounts as a paid service would, in play money. An account
    starts with 5.00 USD; its key is printed once, as the last line of --new-account.

    Each option has an environment variable: --port is TENDER_PIPELINE_SERVE_PORT.
    """
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", stream=sys.stderr)
    folder = values["data"] or data_folder() / "service"
    with closing(Accounts(folder)) as accounts:
        if values["new_account"]:
            account = accounts.open()
            log.info("account %d with %s USD in %s", account.account_id, STARTING_BALANCE, folder)
            click.echo(account.key)
        else:
            _serve(accounts, values)
    return 0


def _serve(accounts: Accounts, values: dict[str, Any]) -> None:
    matchers = engine_matchers()
    app = create_app(
        accounts,
        matchers,
        metadata=values["metadata"],
        key_rate=parse_rate(values["rate"]),
        demo_rate=parse_rate(values["demo_rate"]),
    )
    with _listening(values["host"], values["port"]) as listener:
        for matcher in matchers.values():
            list(matcher.answers([["warm"]]))  # so that the first call need not wait for its index
        config = uvicorn.Config(
            app,
            log_config=None,
            log_level="warning",
            access_log=False,
            proxy_headers=False,  # else a caller could say which address it calls from
            server_header=False,
            ws="none",
            timeout_keep_alive=IDLE,
            timeout_graceful_shutdown=PATIENCE,
        )
        click.echo(f"Serving on {_address(listener)}")
        _Server(config).run(sockets=[listener])


class _Server(uvicorn.Server):
    """Ends in good order on a signal, and well: uvicorn's own would raise it again after that."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - its shape
        """Stop taking requests; a second interrupt does not wait for those under way."""
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True


def _listening(host: str, port: int) -> socket.socket:
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


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
