"""A paid service as a script or a notebook names it, with the terms of buying from it."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from pipeline.amounts import Time, Usd, seconds, usd
from pipeline.errors import SettingsError
from pipeline.files.directories import data_folder
from pipeline.paid.budget import MAX_PRICE
from pipeline.paid.client.urls import canonical, checked_key, in_the_clear
from pipeline.paid.terms import PurchaseSettings
from pipeline.rate import parse_rate
from pipeline.settings import check_flag

__all__ = ["KEY_VARIABLE", "PaidService"]

KEY_VARIABLE = "TENDER_PIPELINE_API_KEY"


@dataclass(frozen=True, slots=True)
class PaidService:
    """A deployment of the paid interface, and the terms on which jobs buy from it.

    Attributes:
        base_url: its address.
        api_key: the account's key; None takes the variable ``TENDER_PIPELINE_API_KEY``, and
            where that is not set, or for "", demo requests are sent, 10 an hour.
        ledger: the file of answers and payments; None: ``ledger.db`` in the user's data folder.
        rate: the limit, such as ``250/min``; ``none`` for none; None: the account's, that is 100
            a minute with a key and 10 an hour without.
        workers: how many requests may be under way at once.
        max_cost: the most that a job may cost, US dollars; a job that reaches it parks.
        max_price: a call that costs more than this parks its job, US dollars.
        max_duration: how long a run may buy before it parks, such as ``6h``.
        timeout: how long an attempt may take.
        burst: send as soon as the limit allows instead of evenly.
        wait: wait for another run with this key or ledger, for the demo limit, and for pauses of
            more than an hour that the service asks for.
        ignore_pause: send at once although the service asked an earlier run to wait.
        retry_failed: buy calls again that failed for good before the job began.
        max_age: buy answers again that were older than this when the job began, such as ``30d``.
        on_unconfirmed: whether a call whose answer was lost, so that it may have been billed, is
            sent once more (``retry``) or not (``hold``).

    Raises:
        SettingsError: one of them is wrong.
    """

    base_url: str
    api_key: str | None = field(default=None, repr=False)
    ledger: str | PathLike[str] | None = None
    rate: str | None = None
    workers: int = 16
    max_cost: Usd | None = None
    max_price: Usd = MAX_PRICE
    max_duration: Time | None = None
    timeout: Time = "60s"
    burst: bool = False
    wait: bool = False
    ignore_pause: bool = False
    retry_failed: bool = False
    max_age: Time | None = None
    on_unconfirmed: Literal["retry", "hold"] = "retry"

    def __post_init__(self) -> None:
        if self.api_key is None:
            object.__setattr__(self, "api_key", os.environ.get(KEY_VARIABLE, ""))
        terms = self.terms()
        if terms.api_key and in_the_clear(terms.base_url):
            said = f"the API key goes to {terms.base_url} unencrypted. Use https."
            warnings.warn(said, stacklevel=3)

    def terms(self) -> PurchaseSettings:
        """Return them as a purchase needs them."""
        for name in ("burst", "wait", "ignore_pause", "retry_failed"):
            check_flag(name, getattr(self, name))
        key = _text("api_key", self.api_key or "").strip()
        return PurchaseSettings(
            base_url=canonical(_text("base_url", self.base_url)),
            api_key=checked_key(key) if key else None,
            ledger=_ledger(self.ledger),
            rate="account" if self.rate is None else parse_rate(_text("rate", self.rate)),
            workers=_workers(self.workers),
            max_cost=None if self.max_cost is None else usd("max_cost", self.max_cost),
            max_price=usd("max_price", self.max_price),
            max_duration=_seconds("max_duration", self.max_duration),
            timeout=_timeout(self.timeout),
            burst=self.burst,
            wait=self.wait,
            ignore_pause=self.ignore_pause,
            retry_failed=self.retry_failed,
            max_age=_seconds("max_age", self.max_age),
            on_unconfirmed=_on_unconfirmed(self.on_unconfirmed),
        )


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise SettingsError(f"{name} is a {type(value).__name__}.", f"{name} must be text.")
    return value


def _ledger(value: Any) -> Path:
    if value is None:
        return data_folder() / "ledger.db"
    if not isinstance(value, str | PathLike):
        raise SettingsError(f"ledger is {value!r}.", "ledger must be the path of a file.")
    return Path(value)


def _workers(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise SettingsError(
            f"workers is {value!r}.", "workers must be a whole number from 1 (--workers)."
        )
    return value


def _seconds(name: str, value: Time | None) -> float | None:
    return None if value is None else seconds(name, value)


def _timeout(value: Time) -> float:
    found = seconds("timeout", value)
    if not found:
        raise SettingsError(
            "In no time no answer can arrive.", "timeout must be a time, such as 60s (--timeout)."
        )
    return found


def _on_unconfirmed(value: Any) -> Any:
    if value not in ("retry", "hold"):
        raise SettingsError(
            f"on_unconfirmed is {value!r}.", "on_unconfirmed must be retry or hold."
        )
    return value
