"""``tender-pipeline serve``: the interface's server on this machine, to rehearse paid runs."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from pipeline.errors import SettingsError
from pipeline.folders import data_folder
from pipeline.rate import parse_rate

__all__ = ["serve"]

METADATA = ("detailed", "compact", "mixed")

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
@click.option(
    "--faults",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Let go wrong what this TOML file says, and keep a record of it beside the accounts.",
)
@click.option("--new-account", is_flag=True, help="Open an account, print its key and exit.")
def serve(**values: Any) -> int:
    """Answer the service's interface with the embedded engine.

    Calls are priced and charged to accounts as a paid service would, in play money. An account
    starts with 5.00 USD; its key is printed once, as the last line of --new-account.

    Each option has an environment variable: --port is TENDER_PIPELINE_SERVE_PORT.
    """
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", stream=sys.stderr)
    folder = values["data"] or data_folder() / "service"
    service = _service()
    if values["new_account"]:
        with closing(service.Accounts(folder)) as accounts:
            account = accounts.open()
        log.info(
            "account %d with %s USD in %s", account.account_id, service.STARTING_BALANCE, folder
        )
        click.echo(account.key)
    elif values["faults"] is None:
        with closing(service.Accounts(folder)) as accounts:
            _serve(service, accounts, values)
    else:
        _serve_badly(service, folder, values)
    return 0


def _serve(
    service: ModuleType,
    accounts: Any,
    values: dict[str, Any],
    around: Callable[[Any], Any] = lambda app: app,
    protocol: Any = None,
) -> None:
    """Serve until told to stop, with something around the service."""
    matchers = service.engine_matchers()
    app = service.create_app(
        accounts,
        matchers,
        metadata=values["metadata"],
        key_rate=parse_rate(values["rate"]),
        demo_rate=parse_rate(values["demo_rate"]),
    )
    with service.server.listening(values["host"], values["port"]) as listener:
        for matcher in matchers.values():
            list(matcher.answers([["warm"]]))  # the first call need not wait for its index
        click.echo(f"Serving on {service.server.address(listener)}")
        service.server.run(around(app), listener, protocol)


def _serve_badly(service: ModuleType, folder: Path, values: dict[str, Any]) -> None:
    """Serve with faults; say before what they are, and after what they did."""
    faults = service.faults
    script = faults.read_script(values["faults"])
    with (
        closing(service.Accounts(folder)) as accounts,
        closing(faults.Record(folder)) as record,
    ):
        log.info("%s\nThe record of what happens: %s", faults.announced(script), record.path)
        before = record.last()
        _serve(
            service,
            accounts,
            values,
            lambda app: faults.FaultServer(app, script, record),
            faults.DroppableConnections,
        )
        log.info("What happened:\n%s", faults.told(record.requests(after=before)))


def _service() -> ModuleType:
    """Import what only this command needs, and a run can do without.

    Raises:
        SettingsError: the packages of the extra are not installed.
    """
    try:
        from pipeline import service
    except ImportError as error:
        raise SettingsError(
            f"The service needs the package {error.name}, which is not installed.",
            "Install it: pip install 'tender-pipeline[service]'.",
        ) from error
    return service
