"""The options of a paid endpoint, and the purchase that they ask for."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from pipeline.cli.options import option
from pipeline.errors import SettingsError
from pipeline.files.regular import read_text
from pipeline.paid import Estimate, PaidService, Purchase
from pipeline.paid.service import KEY_VARIABLE
from pipeline.progress import bar, log_lines
from pipeline.settings import Settings

__all__ = [
    "buying",
    "buying_options",
    "described",
    "paid_options",
    "paid_service",
    "planned",
]

Command = TypeVar("Command", bound=Callable[..., Any])

PARTIAL = option("--partial", is_flag=True, help="When the run parks, write the table so far.")

OPTIONS = (
    option("--base-url", help="The paid service; without one the embedded engine answers."),
    option(
        "--api-key-file",
        type=click.Path(path_type=Path),
        help=f"A file with the API key.  [default: the variable {KEY_VARIABLE}]",
    ),
    option(
        "--ledger",
        type=click.Path(path_type=Path),
        help="Where answers and payments are kept.  [default: in your data folder]",
    ),
    option("--rate", help="The limit: 100/min, 60/6s, none.  [default: the account's]"),
    option("--workers", default=16, help="Requests under way at once."),
    option("--max-cost", help="Park before this job costs more, US dollars."),
    option("--max-price", default="0.01", help="Park when one call costs more, US dollars."),
    option("--max-duration", help="Park after this time, such as 90min or 6h."),
    option("--timeout", default="60s", help="How long an attempt may take."),
    option("--burst", is_flag=True, help="Send as soon as the limit allows, not evenly."),
    option("--wait", is_flag=True, help="Wait for another run, demo limits and long pauses."),
    option("--ignore-pause", is_flag=True, help="Send though the service asked to wait."),
    option("--retry-failed", is_flag=True, help="Buy calls again that failed for good."),
    option("--max-age", help="Buy answers again that are older, such as 30d."),
    option(
        "--on-unconfirmed",
        type=click.Choice(["retry", "hold"]),
        default="retry",
        help="What to do when an answer was lost that may have been billed.",
    ),
    PARTIAL,
    option("--yes", is_flag=True, help="Buy without being asked."),
)


def paid_options(command: Command) -> Command:
    """Give a command the options of a paid endpoint."""
    for declare in reversed(OPTIONS):
        command = declare(command)
    return command


def buying_options(command: Command) -> Command:
    """Give a command the options of a paid endpoint, but for the one that is about a table."""
    for declare in reversed([each for each in OPTIONS if each is not PARTIAL]):
        command = declare(command)
    return command


def paid_service(values: dict[str, Any]) -> PaidService | None:
    """Return the paid service that the options name; None without a base URL.

    Raises:
        SettingsError: an option cannot be understood, or the key file cannot be read.
    """
    if not values["base_url"]:
        return None
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        service = PaidService(
            base_url=values["base_url"],
            api_key=_api_key(values["api_key_file"]),
            ledger=values["ledger"],
            rate=values["rate"] or None,
            workers=values["workers"],
            max_cost=values["max_cost"] or None,
            max_price=values["max_price"],
            max_duration=values["max_duration"] or None,
            timeout=values["timeout"],
            burst=values["burst"],
            wait=values["wait"],
            ignore_pause=values["ignore_pause"],
            retry_failed=values["retry_failed"],
            max_age=values["max_age"] or None,
            on_unconfirmed=values["on_unconfirmed"],
        )
    for warning in warned:
        click.echo(f"Warning: {warning.message}", err=True)
    return service


def buying(service: PaidService, settings: Settings, identity: str, sure: bool) -> Purchase:
    """Open the purchase of a job by what it is known by."""
    terminal = sys.stderr is not None and sys.stderr.isatty()
    ask = terminal and sys.stdin is not None and sys.stdin.isatty()

    def confirm(estimate: Estimate) -> bool:
        click.echo(described(service, estimate), err=True)
        if sure or service.max_cost is not None or not ask:
            return True
        return click.confirm("Buy?", err=True)

    progress = bar if terminal else log_lines
    return Purchase(service, settings, identity, progress, confirm)


@contextmanager
def planned(service: PaidService, settings: Settings, identity: str) -> Iterator[Purchase]:
    """Open a purchase that only plans a job; nothing of it stays in the ledger."""
    with Purchase(service, settings, identity, plan_only=True) as bought:
        try:
            yield bought
        finally:
            bought.delete_job()


def described(service: PaidService, estimate: Estimate) -> str:
    """Say what a purchase will take, at which limit and from which ledger."""
    limit = "no limit" if service.limit is None else f"at most {service.limit}"
    return f"{estimate} ({limit}); ledger {service.ledger}"


def _api_key(file: Path | None) -> str | None:
    """Return the key in a file; None without one: the variable has it."""
    if file is None:
        return None
    try:
        return read_text(file).strip()
    except (OSError, UnicodeDecodeError) as error:
        # The name may be the key itself, and so may what cannot be decoded: neither is repeated.
        reason = error.strerror or error if isinstance(error, OSError) else "it is not UTF-8 text"
        raise SettingsError(
            f"The file of the API key cannot be read: {reason}.",
            "Give --api-key-file the path of a text file that holds the key alone.",
        ) from error
