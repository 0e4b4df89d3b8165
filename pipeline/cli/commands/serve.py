"""``tender-pipeline serve``: the service on this machine, for rehearsals."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, Literal

import click

from pipeline.answers import Matcher
from pipeline.cli.options import LocalPath, option, parameters
from pipeline.cli.output.console import say
from pipeline.cli.process import INTERRUPTED
from pipeline.errors import SettingsError
from pipeline.files.paths import data_folder
from pipeline.rate import parse_rate
from pipeline.wording import command

if TYPE_CHECKING:  # its packages are an extra
    from starlette.types import ASGIApp

    from pipeline.service.accounts import Accounts


DATA_HELP = "The folder of the accounts.  [default: in the user's data folder]"
DATA: dict[str, Any] = {
    "type": LocalPath(path_type=Path, file_okay=False),
    "envvar": "TENDER_PIPELINE_SERVE_DATA",
}
"""The option --data of `serve` and `accounts`; its variable is the same for both."""


def service_folder(folder: Path | None) -> Path:
    """Return the folder of the accounts that `serve` would use here."""
    return folder or data_folder() / "service"


@contextmanager
def service_extra() -> Iterator[None]:
    """Import modules of the service, whose packages are an extra.

    Raises:
        SettingsError: one of the packages is not installed.
    """
    try:
        yield
    except ImportError as error:
        raise SettingsError(
            f"The service needs the package {error.name}, which is not installed.",
            f"In a copy of the source: {quote(sys.executable)} -m pip install '.[service]'.",
        ) from error


def accounts_command(words: str, folder: Path) -> str:
    """Return a command of ``accounts`` for a person, which finds the same accounts."""
    where = () if folder == service_folder(None) else ("--data", folder)
    return command("accounts", words, *where)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """The options of the command."""

    host: str = option("The address to listen on.", default="127.0.0.1")
    port: int = option("The port; 0 takes a free one.", default=8000, type=click.IntRange(0, 65535))
    data: Path | None = option(DATA_HELP, **DATA)
    metadata: Literal["detailed", "compact", "mixed"] = option(
        "The form of costs in responses.", default="detailed"
    )
    rate: str = option("Rate limit of an account, or none.", default="100/min")
    demo_rate: str = option("Rate limit of an address without a key, or none.", default="10/hour")
    faults: Path | None = option(
        "Inject the faults described in this TOML file, and record them beside the accounts.",
        type=LocalPath(path_type=Path, dir_okay=False),
    )
    trusted_proxy: tuple[str, ...] = option(
        "A proxy whose X-Forwarded-For is trusted; repeat it for several.  [default: none]",
        type=str,
        metavar="ADDRESS|NETWORK",
    )


# The prefix keeps TENDER_PIPELINE_RATE, the rate of a run, apart from the limit of the service.
@click.command(
    params=parameters(_Options),
    context_settings={"auto_envvar_prefix": "TENDER_PIPELINE_SERVE"},
)
def serve(**values: Any) -> int:
    """Serve the API with the embedded engine.

    Calls are priced and charged to accounts as in a paid service, but in play money. An account
    starts with 5.00 USD; open one with: tender-pipeline accounts open.

    The log goes to standard error, a JSON object per line. SIGTERM or an interrupt lets the
    requests under way finish; a second interrupt does not.

    Each option has an environment variable: --port is TENDER_PIPELINE_SERVE_PORT.
    """
    options = _Options(**values)
    folder = service_folder(options.data)
    with service_extra():
        import pipeline.service.app  # noqa: F401 - it needs them all
        from pipeline.service.accounts import Accounts
        from pipeline.service.accounts.database import only_service
        from pipeline.service.http import outcomes

    if options.data is not None and not folder.exists():  # its name may be mistyped
        raise SettingsError(
            f"The folder {folder} does not exist.",
            f"Open an account in it: {accounts_command('open', folder)}; "
            "or give the right folder: --data DIR.",
        )
    outcomes.set_up()
    with only_service(folder), closing(Accounts(folder)) as accounts:
        if options.faults is None:
            return _serve(accounts, options)
        return _serve_with_faults(accounts, options, options.faults)


def _serve(
    accounts: Accounts,
    options: _Options,
    around: Callable[[ASGIApp], ASGIApp] = lambda app: app,
    notes: Sequence[str] = (),
    **more: Any,
) -> int:
    """Serve the application that `around` returns until a signal; return the exit code."""
    from pipeline.service.app import create_app, engine_matchers
    from pipeline.service.server import Server, address, listening, make_room, networks

    matchers = engine_matchers()
    make_room()
    key_rate, demo_rate = parse_rate(options.rate), parse_rate(options.demo_rate)
    app = create_app(
        accounts, matchers, metadata=options.metadata, key_rate=key_rate, demo_rate=demo_rate
    )
    server = Server(
        around(app),
        trusted_proxies=networks(options.trusted_proxy),
        **more,
    )
    with listening(options.host, options.port) as listener:
        _warm_up(matchers.values())
        lines = [f"Serving on {address(listener)}", *_about(accounts), *notes]
        say("\n".join(lines))
        server.run([listener])
    return INTERRUPTED if server.force_exit else 0


def _serve_with_faults(accounts: Accounts, options: _Options, faults: Path) -> int:
    """Serve with faults; print them before, and what happened after."""
    from pipeline.service.chaos.faults import read_script
    from pipeline.service.chaos.record import Record, outcomes
    from pipeline.service.chaos.server import DroppableConnections, FaultServer

    script = read_script(faults)
    with closing(Record(accounts.folder)) as record:
        before = record.last()
        code = _serve(
            accounts,
            options,
            lambda app: FaultServer(app, script, record),
            [str(script), f"The record of what happens: {record.path}"],
            protocol=DroppableConnections,
        )
        say(f"What happened:\n{outcomes(record.requests(after=before))}")
    return code


def _about(accounts: Accounts) -> list[str]:
    """Return where the accounts are and, if there are none yet, how to open one."""
    where = f"Accounts: {accounts.folder}"
    if accounts.all():
        return [where]
    opening = accounts_command("open", accounts.folder)
    return [where, f"No accounts yet. Sign up on the page, or open one: {opening}"]


def _warm_up(matchers: Iterable[Matcher]) -> None:
    """Load everything that calls need, so that no call waits for it."""
    for matcher in matchers:
        list(matcher.answers([["warm"]]))
    gc.collect()
    gc.freeze()  # scanning the code tables, which stay, stopped all requests for 0.2 s
