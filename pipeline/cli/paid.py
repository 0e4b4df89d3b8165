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
Value = TypeVar("Value")

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
    option("--wait", is_flag=True, help="Wait for another run with this key, and demo limits."),
    option("--retry-failed", is_flag=True, help="Buy calls again that failed for good."),
    option("--max-age", help="Buy answers again that are older, such as 30d."),
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

    def given(name: str, read: Callable[[str, str], Value], example: str) -> Value | None:
        text, option = values[name], name.replace("_", "-")
        return read(text, f"--{option} such as {example}") if text else None

    return PurchaseSettings(
        base_url=base,
        api_key=key,
        ledger=values["ledger"] or data_folder() / "ledger.db",
        rate=parse_rate(values["rate"]) if values["rate"] else "account",
        workers=values["workers"],
        max_cost=given("max_cost", _usd, "2.50"),
        max_price=_usd(values["max_price"], "--max-price such as 0.01"),
        max_duration=given("max_duration", _seconds, "90min or 6h"),
        timeout=_timeout(values["timeout"]),
        burst=values["burst"],
        wait=values["wait"],
        retry_failed=values["retry_failed"],
        max_age=given("max_age", _seconds, "12h or 30d"),
        on_unconfirmed=values["on_unconfirmed"],
    )


def purchase(
    how: PurchaseSettings, settings: Settings, source: Path, output: Path, sure: bool
) -> Purchase:
    """Open the purchase of a job."""
    terminal = sys.stderr is not None and sys.stderr.isatty()
    ask = terminal and sys.stdin is not None and sys.stdin.isatty()

    def confirm(estimate: Estimate) -> bool:
        click.echo(described(how, estimate), err=True)
        if sure or how.max_cost is not None or not ask:
            return True
        return click.confirm("Buy?", err=True)

    progress = buying_bar if terminal else buying_lines
    return Purchase(how, settings, _identity(settings, source, output), progress, confirm)


@contextmanager
def planned(
    how: PurchaseSettings, settings: Settings, source: Path, output: Path
) -> Iterator[Purchase]:
    """Open a purchase that only plans a job; nothing of it stays in the ledger."""
    identity = _identity(settings, source, output)
    with Purchase(how, settings, identity, plan_only=True) as bought:
        try:
            yield bought
        finally:
            bought.delete_job()


def described(how: PurchaseSettings, estimate: Estimate) -> str:
    """Say what a purchase will take."""
    held = f"{estimate.held:,} held because their answers were lost, " if estimate.held else ""
    limit = "no limit" if how.limit is None else f"at most {how.limit}"
    cost = f"{plain(estimate.low_usd)} to {plain(estimate.high_usd)} USD"
    return (
        f"{estimate.distinct:,} distinct calls, {estimate.owned:,} owned, {held}"
        f"{estimate.to_buy:,} to buy: {cost}, {duration(estimate.seconds)} ({limit}); "
        f"ledger {how.ledger}"
    )


def _identity(settings: Settings, source: Path, output: Path) -> str:
    """Return what a job is known by: it is the one of this output of this input."""
    what = (source.resolve(), output.resolve(), settings.systems, settings.text_columns)
    return sha256(repr((*what, settings.limit_rows)).encode()).hexdigest()


def _api_key(file: Path | None) -> str | None:
    if file is None:
        key = os.environ.get(KEY_VARIABLE, "")
    else:
        try:
            key = file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(
                f"The file of the API key cannot be read: {type(error).__name__}.",
                "Give --api-key-file the path of a text file that holds the key alone.",
            ) from error
    return checked_key(key.strip()) if key.strip() else None


def _timeout(text: str) -> float:
    seconds = _seconds(text, "--timeout such as 60s")
    if not seconds:
        raise SettingsError(
            "In no time no answer can arrive.", "Give --timeout a time, such as 60s."
        )
    return seconds


def _usd(text: str, example: str) -> Decimal:
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or amount < 0:
        raise SettingsError(f"The cost {text!r} is no amount.", f"Give {example}.")
    return amount


def _seconds(text: str, example: str) -> float:
    form = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|min|h|d)", text.strip())
    if form is None:
        raise SettingsError(f"The time {text!r} cannot be understood.", f"Give {example}.")
    return float(form[1]) * UNITS[form[2]]
