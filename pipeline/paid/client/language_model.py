"""A language model that a user names: how it is asked, and what its calls cost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from urllib.parse import quote

from pipeline.errors import SettingsError
from pipeline.money import plain, usd
from pipeline.paid.client.prices import TokenPrices
from pipeline.wording import beside, option

USUAL_INPUT, MOST_INPUT = 800, 2_500
"""Tokens of a question: of a short one, and more than one has, because texts are cut; see
`prompt.LONGEST`."""

USUAL_OUTPUT, MOST_OUTPUT = 8, 256
"""Tokens of an answer: of a usual one, and how many are allowed unless the user says otherwise."""

OUTPUT_LIMITS = ("max_tokens", "max_completion_tokens")
"""The field that limits the tokens of an answer. A server knows one of the names."""

OURS = ("messages", "model", "n", "stream")
"""Fields that must be ours, or no request could be made, read and paid for as planned."""

TOKEN_PRICES, FIELDS = option("token_prices"), option("request_fields")

TOO_DEAR, FINEST = 1_000_000, -12
"""Token prices are below the first, with as many decimals: so every cost can be stored exactly."""


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """A language model, and the terms of asking it.

    Attributes:
        name: what its server calls it.
        token_prices: what its tokens cost.
        fields: fields of the requests in addition to ours, or in place of them; None leaves one
            out.
    """

    name: str
    token_prices: TokenPrices
    fields: Mapping[str, Any]

    @classmethod
    def from_arguments(
        cls, name: object, token_prices: object, fields: object
    ) -> LanguageModel | None:
        """Return the language model that the arguments of `PaidService` name; None without one.

        Raises:
            SettingsError: one of them is wrong.
        """
        if name is None and token_prices is None and not fields:
            return None
        if name is None:
            raise SettingsError(
                f"{TOKEN_PRICES} and {FIELDS} are for a language model, and none is named.",
                f"Name it{beside('language_model', 'NAME')}, or leave them out.",
            )
        if not isinstance(name, str) or not name.strip() or not name.isprintable():
            raise SettingsError(
                f"{option('language_model')} is {name!r}.",
                "Give the name by which the server knows the model.",
            )
        return cls(name.strip(), _prices(token_prices), _fields(fields))

    @property
    def in_url(self) -> str:
        """Its name as a part of an endpoint."""
        return quote(self.name, safe="._:/@-")

    @property
    def request_fields(self) -> dict[str, Any]:
        """The fields of every request, but for the question."""
        limited = any(name in self.fields for name in OUTPUT_LIMITS)
        defaults = {"temperature": 0} | ({} if limited else {"max_tokens": MOST_OUTPUT})
        return defaults | dict(self.fields)

    @property
    def most_output(self) -> int:
        """How many tokens an answer may have."""
        return max(int(self.request_fields.get(name, 0)) for name in OUTPUT_LIMITS)

    @property
    def usual_prices(self) -> tuple[Decimal, Decimal]:
        """What a call costs, US dollars: a cheap one, and the dearest."""
        return (
            self.token_prices.of(USUAL_INPUT, USUAL_OUTPUT),
            self.token_prices.of(MOST_INPUT, self.most_output),
        )

    def check_price(self, most: Decimal) -> None:
        """Refuse a model of which one call may cost more than so many US dollars.

        Raises:
            SettingsError: it may.
        """
        _, dearest = self.usual_prices
        if dearest > most:
            raise SettingsError(
                f"One call of {self.name} may cost {plain(dearest)} USD: {MOST_INPUT:,} input and "
                f"{self.most_output:,} output tokens. {option('max_price')} allows {plain(most)} "
                "USD.",
                f"If that is right, allow it: {option('max_price', plain(dearest))}.",
            )

    def __str__(self) -> str:
        if not any(self.token_prices):
            return "tokens are free"
        prices = "/".join(map(plain, self.token_prices))
        return f"{prices} USD per million input/output tokens"


def _prices(stated: object) -> TokenPrices:
    """Return token prices from ``IN/OUT``, a pair, or 0."""
    if stated is None:
        raise SettingsError(
            f"{TOKEN_PRICES} is missing: what does a call of the language model cost?", _PRICES_HINT
        )
    parts: Any = stated.replace(" ", "").split("/") if isinstance(stated, str) else stated
    try:
        amounts = parts if isinstance(parts, list | tuple) else [parts]
        prices = [Decimal(plain(usd("token_prices", amount))) for amount in amounts]
    except SettingsError as error:
        raise SettingsError(error.message, _PRICES_HINT) from None
    if len(prices) == 1 and not prices[0]:
        prices *= 2
    exact = all(p < TOO_DEAR and int(p.as_tuple().exponent) >= FINEST for p in prices)
    if len(prices) != 2 or not exact:
        raise SettingsError(f"{TOKEN_PRICES} is {stated!r}.", _PRICES_HINT)
    return TokenPrices(*prices)


_PRICES_HINT = (
    "Write US dollars per million input and output tokens, such as 0.15/0.60, or 0 for your own "
    "server."
)


def _fields(stated: Any) -> Mapping[str, Any]:
    """Return request fields from a mapping, or from texts such as ``reasoning_effort=low``."""
    texts = stated if isinstance(stated, list | tuple) else [stated] if stated else []
    fields = dict(stated.items() if isinstance(stated, Mapping) else map(_field, texts))
    for name, value in fields.items():
        if name in OURS:
            raise SettingsError(
                f"{FIELDS} has {name!r}, which this tool sets itself.",
                "Leave it out.",
            )
        if name in OUTPUT_LIMITS and not (type(value) is int and 1 <= value <= TOO_DEAR):
            raise SettingsError(
                f"{FIELDS} has {name}={value!r}.",
                "Give a whole number of tokens, such as 2000: what a call can cost depends on it.",
            )
    try:
        json.dumps(fields, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise SettingsError(
            f"{FIELDS} cannot be written as JSON: {error}.",
            "Give texts, numbers, lists and dictionaries.",
        ) from None
    return fields


def _field(text: object) -> tuple[str, Any]:
    name, equals, value = str(text).partition("=")
    if not name.strip() or not equals:
        raise SettingsError(f"{FIELDS} has {text!r}.", "Write NAME=JSON, such as top_p=1.")
    try:
        return name.strip(), json.loads(value)
    except ValueError:
        return name.strip(), value  # reasoning_effort=low: a shell takes quotes away
