"""Answers that are not as they should be, each made of a good one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import simplejson

from pipeline.service.chaos.kinds import Form

__all__ = ["ABSURD_USD", "HUGE", "PAGE", "Garbled", "garbled"]

ABSURD_USD = Decimal("1000000")
"""What an answer with an absurd cost says that it costs; the account pays what is usual."""

HUGE = 50 << 20
"""Bytes of a huge answer."""

PAGE = (
    b"<!DOCTYPE html><html><head><title>One moment</title></head>"
    b"<body><h1>We are checking your browser.</h1></body></html>"
)

JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Garbled:
    """A body that is not as it should be.

    Attributes:
        body: its bytes.
        stated_usd: the price in US dollars that it states; None if it states none.
        media_type: what it says it is.
        padding: so many spaces follow the body.
    """

    body: bytes
    stated_usd: Decimal | None
    media_type: str = JSON
    padding: int = 0


def garbled(form: Form, body: bytes, billed: Decimal) -> Garbled:
    """Spoil a good answer.

    Args:
        form: in which way.
        body: the answer.
        billed: its price, US dollars.
    """
    match form:
        case "empty":
            return Garbled(b"", None)
        case "html":
            return Garbled(PAGE, None, "text/html")
        case "huge":  # JSON allows any number of spaces: who reads to their end has no bound
            return Garbled(body, None, padding=HUGE)
        case "list":
            return Garbled(b"[" + body + b"]", None)
        case "truncated":
            return Garbled(body[: len(body) // 2], None)
    content: dict[str, Any] = simplejson.loads(body, use_decimal=True)
    SPOILERS[form](content)
    spoilt = simplejson.dumps(content, ensure_ascii=False, use_decimal=True, allow_nan=True)
    return Garbled(spoilt.encode(), _stated(form, content, billed))


def _stated(form: Form, content: Mapping[str, Any], billed: Decimal) -> Decimal | None:
    """Return the price that an answer states; None if it has none that can be used."""
    if form == "absurd-cost":  # a detailed form contradicts itself: base and markup are as much
        return None if "costBreakdown" in content["metadata"] else ABSURD_USD
    return billed if form in PRICED else None


def _types(content: dict[str, Any]) -> None:
    content["data"] = {item["code"]: [item["title"], True] for item in content["data"]}
    content["message"] = 200


def _nan(content: dict[str, Any]) -> None:
    """Write NaN, which JSON has not, for the cost and for the lowest confidence."""
    _reprice(content, lambda _: float("nan"))
    for item in content["data"][-1:]:
        item["confidence"] = float("nan")


def _text_confidence(content: dict[str, Any]) -> None:
    for item in content["data"]:
        item["confidence"] = str(item["confidence"])


def _duplicates(content: dict[str, Any]) -> None:
    content["data"] += content["data"]


def _currency(content: dict[str, Any]) -> None:
    _prices(content)["currency"] = "EUR"


def _no_metadata(content: dict[str, Any]) -> None:
    del content["metadata"]


def _text_costs(content: dict[str, Any]) -> None:
    _reprice(content, lambda usd: f"{usd:f}")


def _negative_cost(content: dict[str, Any]) -> None:
    _reprice(content, lambda usd: -usd)


def _absurd_cost(content: dict[str, Any]) -> None:
    _reprice(content, lambda _: ABSURD_USD)


SPOILERS: dict[Form, Callable[[dict[str, Any]], None]] = {
    "absurd-cost": _absurd_cost,
    "currency": _currency,
    "duplicates": _duplicates,
    "nan": _nan,
    "negative-cost": _negative_cost,
    "no-metadata": _no_metadata,
    "text-confidence": _text_confidence,
    "text-costs": _text_costs,
    "types": _types,
}

PRICED: tuple[Form, ...] = ("duplicates", "text-confidence", "text-costs", "types")
"""Forms that state the price all the same."""


def _prices(content: dict[str, Any]) -> dict[str, Any]:
    """Return the object that states the price, in either form of the metadata."""
    metadata = content["metadata"]
    prices: dict[str, Any] = metadata.get("costBreakdown") or metadata["cost"]
    return prices


def _reprice(content: dict[str, Any], change: Callable[[Decimal], object]) -> None:
    """Change what the call cost, with and without the markup."""
    prices = _prices(content)
    for name in ("apiCost", "markupAmount", "finalCost"):
        if name in prices:
            prices[name] = change(prices[name])
