"""Makes malformed answers from correct ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import simplejson

from pipeline.service.chaos.exchange import Response
from pipeline.service.chaos.kinds import Form

__all__ = ["ABSURD_USD", "HTML", "HUGE", "PAGE", "garbled"]

ABSURD_USD = Decimal("1000000")
"""The price that an answer with an absurd cost states; the account pays the usual one."""

HUGE = 50 << 20
"""Bytes of a huge answer."""

PAGE = (
    b"<!DOCTYPE html><html><head><title>One moment</title></head>"
    b"<body><h1>We are checking your browser.</h1></body></html>"
)

HTML = {"Content-Type": "text/html"}


def garbled(form: Form, body: bytes, billed: Decimal) -> tuple[Response, Decimal | None]:
    """Malform a correct answer that was billed; return it with the price that it states, if any."""
    match form:
        case "empty":
            return Response(200, b""), None
        case "html":
            return Response(200, PAGE, HTML), None
        case "huge":  # JSON allows any number of spaces, so reading to the end has no bound
            return Response(200, body, padding=HUGE), None
        case "list":
            return Response(200, b"[" + body + b"]"), None
        case "truncated":
            return Response(200, body[: len(body) // 2]), None
    content: dict[str, Any] = simplejson.loads(body, use_decimal=True)
    SPOILERS[form](content)
    spoilt = simplejson.dumps(content, ensure_ascii=False, use_decimal=True, allow_nan=True)
    return Response(200, spoilt.encode()), _stated(form, content, billed)


def _stated(form: Form, content: Mapping[str, Any], billed: Decimal) -> Decimal | None:
    """Return the usable price that an answer states; None without one."""
    if form == "absurd-cost":  # the detailed form contradicts itself: base and markup are as large
        return None if "costBreakdown" in content["metadata"] else ABSURD_USD
    return billed if form in PRICED else None


def _types(content: dict[str, Any]) -> None:
    content["data"] = {item["code"]: [item["title"], True] for item in content["data"]}
    content["message"] = 200


def _nan(content: dict[str, Any]) -> None:
    """Write NaN, which is not JSON, for the cost and the lowest confidence."""
    _reprice(content, lambda _: float("nan"))
    for item in content["data"][-1:]:
        item["confidence"] = float("nan")


def _text_confidence(content: dict[str, Any]) -> None:
    for item in content["data"]:
        item["confidence"] = str(item["confidence"])


SPOILERS: dict[Form, Callable[[dict[str, Any]], object]] = {
    "absurd-cost": lambda content: _reprice(content, lambda _: ABSURD_USD),
    "currency": lambda content: _prices(content).update(currency="EUR"),
    "duplicates": lambda content: content.update(data=2 * content["data"]),
    "nan": _nan,
    "negative-cost": lambda content: _reprice(content, lambda usd: -usd),
    "no-metadata": lambda content: content.pop("metadata"),
    "text-confidence": _text_confidence,
    "text-costs": lambda content: _reprice(content, lambda usd: f"{usd:f}"),
    "types": _types,
}

PRICED: tuple[Form, ...] = ("duplicates", "text-confidence", "text-costs", "types")
"""Forms that still state the price."""


def _prices(content: dict[str, Any]) -> dict[str, Any]:
    """Return the object that states the price."""
    metadata = content["metadata"]
    prices: dict[str, Any] = metadata.get("costBreakdown") or metadata["cost"]
    return prices


def _reprice(content: dict[str, Any], change: Callable[[Decimal], object]) -> None:
    """Change the price, with and without markup."""
    prices = _prices(content)
    for name in ("apiCost", "markupAmount", "finalCost"):
        if name in prices:
            prices[name] = change(prices[name])
