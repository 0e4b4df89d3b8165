"""The options of a paid endpoint, and the purchase that they ask for."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal, InvalidOperation
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import click

from pipeline.api.addresses import canonical, checked_key, in_the_clear
from pipeline.buy import Estimate, Purchase, PurchaseSettings
from pipeline.buy.progress import buying_bar, buying_lines, duration
from pipeline.cli.options import option
from pipeline.errors import SettingsError
from pipeline.folders import data_folder
from pipeline.money import plain
from pipeline.rate import parse_rate
from pipeline.settings import Settings

__all__ = ["described", "paid_options", "planned", "purchase", "purchase_settings"]

KEY_VARIABLE = "TENDER_PIPELINE_API_KEY"

Command = TypeVar("Command", bound=Callable[..., Any])

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
    option("--max-duration", help="Park after this time, such as 90min or 6h."),
    option("--burst", is_flag=True, help="Send as soon as the limit allows, not evenly."),
    option("--wait", is_flag=True, help="Wait for another run with this key, and demo limits."),
    option("--retry-failed", is_flag=True, help="Buy calls again that failed for good."),
    option(
        "--on-unconfirmed",
        type=click.Choice(["retry", "hold"]),
        default="retry",
        help="What to do when an answer was lost that may have been billed.",
    ),
    option("--yes", is_flag=True, help="Buy without being asked."),
)

UNITS = {"s": 1, "min": 60, "h": 3600, "d": 86400}


def paid_options(command: Command) -> Command:
    """Give a command the options of a paid endpoint."""
    for declare in reversed(OPTIONS):
        command = declare(command)
    return command


def purchase_settings(values: dict[str, Any]) -> PurchaseSettings | None:
    """Return how a job buys; None without a base URL.

    Raises:
        SettingsError: an option cannot be understood, or the key file cannot be read.
    """
    if not values["base_url"]:
        return None
    base = canonical(values["base_url"])
    key = _api_key(values["api_key_file"])
    if key and in_the_clear(base):
        click.echo(f"Warning: the API key goes to {base} unencrypted. Use https.", err=True)
    if values["workers"] < 1:
        raise SettingsError(f"workers is {values['workers']}.", "Give --workers at least 1.")
    return PurchaseSettings(
        base_url=base,
        api_key=key,
        ledger=values["ledger"] or data_folder() / "ledger.db",
        rate=parse_rate(values["rate"]) if values["rate"] else "account",
        workers=values["workers"],
        max_cost=_usd(values["max_cost"]),
        max_duration=_seconds(values["max_duration"]),
        burst=values["burst"],
        wait=values["wait"],
        retry_failed=values["retry_failed"],
        on_unconfirmed=values["on_unconfirmed"],
    )


def purchase(
    how: PurchaseSettings, settings: Settings, source: Path, output: Path, sure: bool
) -> Purchase:
    """Open the purchase of a job; its job is the one of this output of this input."""
    what = (source.resolve(), output.resolve(), settings.systems, settings.text_columns)
    identity = sha256(repr((*what, settings.limit_rows)).encode()).hexdigest()
    terminal = sys.stderr is not None and sys.stderr.isatty()
    ask = terminal and sys.stdin is not None and sys.stdin.isatty()

    def confirm(estimate: Estimate) -> bool:
        click.echo(described(how, estimate), err=True)
        if sure or how.max_cost is not None or not ask:
            return True
        return click.confirm("Buy?", err=True)

    progress = buying_bar if terminal else buying_lines
    return Purchase(how, settings, identity, progress, confirm)


@contextmanager
def planned(how: PurchaseSettings, settings: Settings) -> Iterator[Purchase]:
    """Open a purchase that only plans; nothing of it stays in the ledger."""
    with Purchase(how, settings, f"plan {uuid4()}") as bought:
        try:
            yield bought
        finally:
            bought.delete_job()


def described(how: PurchaseSettings, estimate: Estimate) -> str:
    """Say what a purchase will take."""
    owned = estimate.distinct - estimate.to_buy
    limit = "no limit" if how.limit is None else f"at most {how.limit}"
    cost = f"{plain(estimate.low_usd)} to {plain(estimate.high_usd)} USD"
    return (
        f"{estimate.distinct:,} distinct calls, {owned:,} owned, {estimate.to_buy:,} to buy: "
        f"{cost}, {duration(estimate.seconds)} ({limit}); ledger {how.ledger}"
    )


def _api_key(file: Path | None) -> str | None:
    if file is None:
        key = os.environ.get(KEY_VARIABLE, "")
    else:
        try:
            key = file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(
                f"The key file {file} cannot be read: {type(error).__name__}.",
                "Give --api-key-file a text file that holds the key alone.",
            ) from error
    return checked_key(key.strip()) if key.strip() else None


def _usd(text: str | None) -> Decimal | None:
    if not text:
        return None
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or amount < 0:
        raise SettingsError(f"The cost {text!r} is no amount.", "Give --max-cost such as 2.50.")
    return amount


def _seconds(text: str | None) -> float | None:
    if not text:
        return None
    form = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|min|h|d)", text.strip())
    if form is None:
        raise SettingsError(
            f"The time {text!r} cannot be understood.", "Give --max-duration such as 90min or 6h."
        )
    return float(form[1]) * UNITS[form[2]]
