"""The paid service that a user names, with the terms of buying from it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field
from datetime import timedelta
from decimal import Decimal
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

from pipeline.arguments import check_choice, check_flag, public, public_class, whole_number
from pipeline.errors import SettingsError
from pipeline.files.paths import data_folder
from pipeline.money import Usd, usd
from pipeline.paid.client.language_model import LanguageModel
from pipeline.paid.client.prices import TokenPrices
from pipeline.paid.client.urls import BaseUrl, canonical, in_the_clear, key_fingerprint
from pipeline.paid.ledger.checks import open_usable
from pipeline.paid.ledger.ledger import Counting
from pipeline.paid.ledger.totals import read_spending
from pipeline.paid.limits import MAX_PRICE, TYPICAL_HIGH, TYPICAL_LOW
from pipeline.purchases import Period
from pipeline.rate import AUTHENTICATED, DEMO, Duration, Rate, parse_rate, seconds
from pipeline.settings import KEY_VARIABLE, LEDGER_VARIABLE
from pipeline.wording import option, warn_in_python

if TYPE_CHECKING:  # pandas is slow to import, and buying does not need it
    import pandas as pd

ONE_BUYER = (
    "Several processes would buy the same answers, each with a ledger and a rate limit. Buy in one "
    "process; in Spark, buy in the driver, with pipeline.spark.classify(frame, service=...)."
)

SPENT = ["day", "system", "attempts", "confirmed_usd", "unconfirmed", "unknown", "at_risk_usd"]


@public_class
@dataclass(frozen=True, slots=True, init=False)
class PaidService:
    """A deployment of the paid interface, and the terms on which jobs buy from it.

    Every argument is checked once, here; the attributes hold the checked values. ``chat`` is the
    language model that is asked; None for a deployment of the interface. Jobs, answers and prices
    belong to the ``endpoint``: the address, with the language model. ``key_fingerprint`` names the
    key in files without revealing it. ``limit`` is the rate limit to keep; None for no limit.

    Args:
        base_url: its address.
        api_key: the account's key; None takes the variable ``TENDER_PIPELINE_API_KEY``. Without
            either, demo requests are sent, 10 an hour, or requests to a language model's server
            that needs no key.
        ledger: the file of answers and payments; None takes the variable
            ``TENDER_PIPELINE_LEDGER``, or else ``ledger.db`` in the user's data folder.
        rate: the limit, such as ``250/min``; ``none`` for no limit; None for the account's: 100 a
            minute with a key, 10 an hour without, and none for a language model.
        workers: the maximum number of requests under way at once.
        max_cost: the maximum cost of a job, US dollars; a job that reaches it stops.
        max_cost_per_day: the maximum cost of all jobs with this key and ledger in a UTC day, US
            dollars; a job that reaches it stops.
        max_cost_per_month: the same for a calendar month (UTC).
        language_model: the name of the language model to ask. ``base_url`` is then an
            OpenAI-compatible API, such as ``http://localhost:8080/v1``, and the model chooses one
            of the 20 codes that the embedded engine finds for each text, or none.
        token_prices: what its tokens cost, US dollars per million: ``0.15/0.60`` for input and
            output, 0 for your own server. A call costs the tokens that the server counts.
        request_fields: further fields of its requests, such as ``{"reasoning_effort": "low"}``, or
            ``{"max_tokens": 2000}`` for a model that reasons; None as a value leaves one out.
        max_price: the maximum price of a call, US dollars; a call that costs more stops its job.
        max_duration: how long a run may buy before it stops, such as ``6h``.
        timeout: how long an attempt may take; None for 60s, or 5min for a language model.
        burst: send as soon as the limit allows, instead of evenly.
        wait: wait for another run with this key or ledger, for the demo limit, and for pauses of
            more than an hour that the service asks for.
        ignore_pause: send at once even if the service asked an earlier run to wait.
        retry_failed: buy calls again that failed for good before the job began.
        max_age: buy answers again that were older than this when the job began, such as ``30d``.
        on_unconfirmed: whether a call whose answer was lost, and may have been billed, is sent
            once more (``retry``) or not (``hold``).

    Raises:
        SettingsError: an argument is wrong.
    """

    base_url: BaseUrl
    api_key: str | None = field(repr=False)
    ledger: Path
    rate: str | None
    workers: int
    max_cost: Decimal | None
    max_cost_per_day: Decimal | None
    max_cost_per_month: Decimal | None
    max_price: Decimal
    max_duration: timedelta | None
    timeout: timedelta
    burst: bool
    wait: bool
    ignore_pause: bool
    retry_failed: bool
    max_age: timedelta | None
    on_unconfirmed: Literal["retry", "hold"]
    language_model: str | None
    token_prices: TokenPrices | None
    request_fields: Mapping[str, Any] | None = field(hash=False)
    chat: LanguageModel | None = field(init=False, repr=False, compare=False)
    endpoint: str = field(init=False, repr=False, compare=False)
    key_fingerprint: str = field(init=False, repr=False, compare=False)
    limit: Rate | None = field(init=False, repr=False, compare=False)

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        ledger: str | PathLike[str] | None = None,
        rate: str | None = None,
        workers: int = 16,
        max_cost: Usd | None = None,
        max_price: Usd = MAX_PRICE,
        max_duration: Duration | None = None,
        timeout: Duration | None = None,
        burst: bool = False,
        wait: bool = False,
        ignore_pause: bool = False,
        retry_failed: bool = False,
        max_age: Duration | None = None,
        on_unconfirmed: Literal["retry", "hold"] = "retry",
        max_cost_per_day: Usd | None = None,
        max_cost_per_month: Usd | None = None,
        language_model: str | None = None,
        token_prices: str | Usd | tuple[Usd, Usd] | None = None,
        request_fields: Mapping[str, Any] | Sequence[str] | None = None,
    ) -> None:
        given = {name: value for name, value in locals().items() if name != "self"}
        _check_not_on_executor()
        flags = {name: given[name] for name in ("burst", "wait", "ignore_pause", "retry_failed")}
        for name, value in flags.items():
            check_flag(name, value)
        check_choice("on_unconfirmed", given["on_unconfirmed"], ("retry", "hold"))
        workers = whole_number("workers", given["workers"], 1)
        chat = LanguageModel.from_arguments(language_model, token_prices, request_fields)
        key = _key(given["api_key"])
        address = canonical(_text("base_url", given["base_url"]), chat is not None)
        checked = flags | {
            "chat": chat,
            "language_model": chat and chat.name,
            "token_prices": chat and chat.token_prices,
            "request_fields": chat and chat.fields,
            "base_url": address,
            "endpoint": f"{address}#{chat.in_url}" if chat else address,
            "api_key": key,
            "key_fingerprint": key_fingerprint(key),
            "ledger": _ledger(given["ledger"]),
            "workers": workers,
            "on_unconfirmed": given["on_unconfirmed"],
            "max_cost": _limit("max_cost", given["max_cost"]),
            "max_cost_per_day": _limit("max_cost_per_day", given["max_cost_per_day"]),
            "max_cost_per_month": _limit("max_cost_per_month", given["max_cost_per_month"]),
            "max_price": usd("max_price", given["max_price"]),
            "rate": given["rate"] if given["rate"] is None else str(given["rate"]),
            "limit": _rate_limit(given["rate"], key, chat),
            "max_duration": _duration("max_duration", given["max_duration"]),
            "max_age": _duration("max_age", given["max_age"]),
            "timeout": _timeout(given["timeout"], "5min" if chat else "60s"),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        if chat:
            chat.check_price(self.max_price)
        if (self.api_key or chat) and in_the_clear(self.base_url):
            what = "the API key goes" if self.api_key else "the texts go"
            warn_in_python(f"{what} to {self.base_url} unencrypted. Use https.")

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled: a key must not travel, and there must be one buyer.

        Raises:
            SettingsError: always.
        """
        raise SettingsError("A PaidService cannot be sent to another process.", ONE_BUYER)

    def __deepcopy__(self, memo: object = None) -> PaidService:
        """Return the service itself, which nothing can change."""
        return self

    __copy__ = __deepcopy__

    @public
    def spent(self) -> pd.DataFrame:
        """Return what the jobs of this ledger have spent with this service, by day and system.

        It includes what other keys and the command line bought. The columns are ``day`` (UTC),
        ``system``, ``attempts``, ``confirmed_usd`` (the sum of the known prices), ``unconfirmed``
        (attempts whose answer was lost), ``unknown`` (attempts whose response stated no price) and
        ``at_risk_usd`` (the most that these two may have cost). Amounts are `decimal.Decimal`.

        Raises:
            LedgerError: there is no ledger yet, or it cannot be read.
        """
        import pandas as pd

        with open_usable(self.ledger) as snapshot:
            spent = read_spending(snapshot)
        rows = [
            (where.day, where.system, *astuple(tally))
            for where, tally in sorted(spent.items())
            if where.base_url == self.endpoint
        ]
        return pd.DataFrame(rows, columns=SPENT).astype({"day": "datetime64[s]"})

    @property
    def name(self) -> str:
        """What people call it."""
        return f"{self.chat.name} at {self.base_url}" if self.chat else self.base_url

    @property
    def is_demo(self) -> bool:
        """Whether demo requests are sent, which are few and may be free."""
        return not self.api_key and not self.chat

    @property
    def typical_prices(self) -> tuple[Decimal, Decimal]:
        """What a call costs before there are any prices, US dollars: a cheap and a dear one."""
        return self.chat.usual_prices if self.chat else (TYPICAL_LOW, TYPICAL_HIGH)

    @property
    def rate_limit(self) -> str:
        """The rate limit in words."""
        return "no rate limit" if self.limit is None else f"at most {self.limit}"

    @property
    def allowed(self) -> str:
        """The rate limit in words, with the prices of tokens, or that there is no key."""
        if self.chat:
            return f"{self.rate_limit}, {self.chat}"
        return self.rate_limit if self.api_key else f"without a key, {self.rate_limit}"

    @property
    def has_cost_limit(self) -> bool:
        """Whether the cost has any limit, so that nobody need be asked before it is spent."""
        return self.max_cost is not None or bool(self.period_limits)

    @property
    def period_limits(self) -> dict[Period, Decimal]:
        """The limits of what all jobs with this key spend, US dollars."""
        limits: dict[Period, Decimal | None] = {
            "day": self.max_cost_per_day,
            "month": self.max_cost_per_month,
        }
        return {period: limit for period, limit in limits.items() if limit is not None}

    @property
    def counting(self) -> Counting:
        """Which attempts in the ledger count for a job's calls."""
        max_age = None if self.max_age is None else self.max_age.total_seconds()
        most_lost = 2 if self.on_unconfirmed == "retry" else 1
        return Counting(max_age, self.retry_failed, most_lost)


def _check_not_on_executor() -> None:
    """Refuse a Spark executor, which has no part in the driver's ledger and throttle."""
    pyspark = sys.modules.get("pyspark")
    if pyspark is not None and pyspark.TaskContext.get() is not None:
        raise SettingsError("This is a Spark executor, which must not buy.", ONE_BUYER)


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise SettingsError(
            f"{name} is of the type {type(value).__name__}.", f"{name} must be text."
        )
    return value


def _key(value: Any) -> str | None:
    """Return the key; None without one. An empty one is a mistake: it would mean demo requests."""
    is_given = value is not None
    if value is None and (value := os.environ.get(KEY_VARIABLE)) is None:
        return None
    key = _text("api_key", value).strip()
    if not key:
        raise SettingsError(
            f"The API key of {option('api_key') if is_given else KEY_VARIABLE} is empty.",
            "Give the account's key, or leave it out: without a key, demo requests are sent.",
        )
    if not all("!" <= character <= "~" for character in key):  # it is never quoted
        raise SettingsError(
            "The API key contains spaces, line breaks or characters outside ASCII.",
            "Copy it again from the account dashboard.",
        )
    return key


def _ledger(value: Any) -> Path:
    if value is None:
        value = os.environ.get(LEDGER_VARIABLE) or data_folder() / "ledger.db"
    if not isinstance(value, str | PathLike) or not os.fspath(value):
        raise SettingsError(f"ledger is {value!r}.", "ledger must be the path of a file.")
    return Path(value).absolute()  # a notebook may change its folder: it must not buy again


def _rate_limit(stated: Any, key: str | None, chat: LanguageModel | None) -> Rate | None:
    if stated is not None:
        return parse_rate(str(stated))
    if chat:
        return None
    return AUTHENTICATED if key else DEMO


def _limit(name: str, value: Usd | None) -> Decimal | None:
    return None if value is None else usd(name, value)


def _duration(name: str, value: Duration | None) -> timedelta | None:
    return None if value is None else timedelta(seconds=seconds(name, value))


def _timeout(value: Duration | None, usual: str) -> timedelta:
    timeout = timedelta(seconds=seconds("timeout", usual if value is None else value))
    if not timeout:
        raise SettingsError(
            f"{option('timeout')} must be greater than zero.",
            f"{option('timeout')} must be a time, such as 60s.",
        )
    return timeout
