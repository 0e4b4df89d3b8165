"""Declares the options of a paid service, and makes a `PaidService` of their values."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click
from click.core import ParameterSource

from pipeline.cli.options import LocalPath, Names, declared, option
from pipeline.errors import SettingsError
from pipeline.files.regular import read_text
from pipeline.settings import KEY_VARIABLE

if TYPE_CHECKING:  # imported if there is a service
    from pipeline.paid.service import PaidService

__all__ = ["BUYING", "PaidOptions", "check_no_terms", "paid_options", "terms_options", "yes"]

BUYING = (
    "--base-url",
    "--api-key-file",
    "--language-model",
    "--token-prices",
    "--request-field",
    "--rate",
    "--max-cost",
    "--max-cost-per-day",
    "--max-cost-per-month",
    "--max-price",
    "--max-duration",
    "--yes",
    "--ledger",
    "--max-age",
    "--retry-failed",
    "--on-unconfirmed",
    "--timeout",
    "--workers",
    "--burst",
    "--wait",
    "--ignore-pause",
)
"""The names of the options for buying, in the order of the help."""

terms_options = declared(
    option(
        "--base-url",
        metavar="URL",
        help="The paid service; without it the embedded engine answers.",
    ),
    option(
        "--api-key-file",
        type=click.Path(path_type=Path),
        help=f"A file with the API key.  [default: the variable {KEY_VARIABLE}]",
    ),
    option(
        "--language-model",
        metavar="NAME",
        help="Let this language model choose among the codes that the engine finds. The URL is "
        "then an OpenAI-compatible API, such as http://localhost:8080/v1.",
    ),
    option(
        "--token-prices",
        metavar="IN/OUT",
        help="What its tokens cost, US dollars per million input and output tokens, such as "
        "0.15/0.60; 0 for your own server.",
    ),
    option(
        "--request-field",
        "request_fields",
        metavar="NAME=JSON",
        multiple=True,
        type=Names(),
        help="One more field of its requests, such as reasoning_effort=low, or max_tokens=2000 for "
        "a model that reasons; null leaves one out.",
    ),
    option(
        "--ledger",
        type=LocalPath(path_type=Path),
        help="The file of answers and payments.  [default: in your data folder]",
    ),
    option(
        "--rate",
        metavar="N/WINDOW",
        help="The rate limit: 100/min, 60/6s, none.  [default: 100/min, or 10/hour without a key]",
    ),
    option("--workers", default=16, help="Concurrent requests."),
    option(
        "--max-cost", metavar="USD", help="Stop (resumable) before this job costs more, US dollars."
    ),
    option(
        "--max-cost-per-day",
        metavar="USD",
        help="Stop (resumable) before all jobs with this key and ledger cost more in a UTC day.",
    ),
    option("--max-cost-per-month", metavar="USD", help="The same for a calendar month (UTC)."),
    option(
        "--max-price",
        metavar="USD",
        default="0.01",
        help="Stop (resumable) if one call costs more, US dollars.",
    ),
    option(
        "--max-duration",
        metavar="TIME",
        help="Stop (resumable) after this time, such as 90min or 6h.",
    ),
    option("--timeout", metavar="TIME", default="60s", help="The time limit of one request."),
    option("--burst", is_flag=True, help="Send as fast as the limit allows, not evenly."),
    option("--wait", is_flag=True, help="Wait for another run, demo limits and long pauses."),
    option("--ignore-pause", is_flag=True, help="Send even if the service asked to wait."),
    option("--retry-failed", is_flag=True, help="Buy calls again that failed for good."),
    option("--max-age", metavar="TIME", help="Buy answers again that are older, such as 30d."),
    option(
        "--on-unconfirmed",
        type=click.Choice(["retry", "hold"]),
        default="retry",
        help="What to do if an answer was lost that may have been billed.",
    ),
)

yes = option("--yes", is_flag=True, help="Buy without asking.")

paid_options = declared(terms_options, yes)


@dataclass(frozen=True, kw_only=True)
class PaidOptions:
    """The options that `paid_options` declares and documents; `PaidService` checks most of them."""

    base_url: str | None
    api_key_file: Path | None
    ledger: Path | None
    rate: str | None
    workers: int
    max_cost: str | None
    max_cost_per_day: str | None
    max_cost_per_month: str | None
    max_price: str
    max_duration: str | None
    timeout: str
    burst: bool
    wait: bool
    ignore_pause: bool
    retry_failed: bool
    max_age: str | None
    on_unconfirmed: Literal["retry", "hold"]
    language_model: str | None
    token_prices: str | None
    request_fields: tuple[str, ...]
    yes: bool

    def service(self) -> PaidService | None:
        """Return the paid service to buy from; None without a base URL.

        Raises:
            SettingsError: an option has a wrong value, or the key file cannot be read.
        """
        if not self.base_url:
            return None
        from pipeline.cli.output.console import warn
        from pipeline.paid.service import PaidService

        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            service = PaidService(
                base_url=self.base_url,
                api_key=self._api_key(),
                ledger=self.ledger,
                rate=self.rate or None,
                workers=self.workers,
                max_cost=self.max_cost or None,
                max_cost_per_day=self.max_cost_per_day or None,
                max_cost_per_month=self.max_cost_per_month or None,
                max_price=self.max_price,
                max_duration=self.max_duration or None,
                timeout=self.timeout,
                burst=self.burst,
                wait=self.wait,
                ignore_pause=self.ignore_pause,
                retry_failed=self.retry_failed,
                max_age=self.max_age or None,
                on_unconfirmed=self.on_unconfirmed,
                language_model=self.language_model or None,
                token_prices=self.token_prices or None,
                request_fields=self.request_fields,
            )
        for warning in warned:
            warn(str(warning.message))
        return service

    def _api_key(self) -> str | None:
        if self.api_key_file is None:
            return None
        try:
            return read_text(self.api_key_file)
        except (OSError, UnicodeDecodeError) as error:
            # The name may be the key itself, and so may what cannot be decoded: repeat neither.
            reason = error.strerror or error if isinstance(error, OSError) else "it is not UTF-8"
            raise SettingsError(
                f"The file of the API key cannot be read: {reason}.",
                "Give --api-key-file the path of a text file that holds only the key.",
            ) from error


def check_no_terms() -> None:
    """Refuse terms of buying on the command line of a job that buys nothing.

    Probably the service was forgotten, or the variable that should name it is empty. Settings files
    and variables may have terms for other jobs, ``--yes`` agrees to any cost, also to none, and
    ``--ledger`` names what ``doctor`` checks without a service, too.

    Raises:
        SettingsError: there are some.
    """
    context = click.get_current_context()
    terms = {field.name for field in fields(PaidOptions)} - {"base_url", "yes", "ledger"}
    given = [
        param.opts[0]
        for param in context.command.params
        if param.name in terms
        and context.get_parameter_source(param.name) == ParameterSource.COMMANDLINE
    ]
    if given:
        names = ", ".join(given)
        verb, them = ("is", "it") if len(given) == 1 else ("are", "them")
        raise SettingsError(
            f"{names} {verb} for buying answers, and no paid service is named.",
            f"Name the service, --base-url URL, or leave {them} out: the embedded engine is free.",
        )
