"""The responses that a fault puts in the place of the service's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from starlette.types import Message

from pipeline.service.chaos.faults import Form
from pipeline.service.http.messages import JSON, parse_exactly, write_json

ABSURD_USD = Decimal("1000000")
"""The price that an answer with an absurd cost states; the account pays the usual one."""

HUGE = 50 << 20
"""Bytes of a huge answer."""

PAGE = (
    b"<!DOCTYPE html><html><head><title>One moment</title></head>"
    b"<body><h1>We are checking your browser.</h1></body></html>"
)

HTML = {"Content-Type": "text/html"}


@dataclass(frozen=True, slots=True)
class Response:
    """A response to send, with its headers but the length, and spaces after the body as padding.

    It states a price in US dollars, or none.
    """

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": JSON})
    stated_usd: Decimal | None = None
    padding: int = 0

    @property
    def start(self) -> Message:
        """The ASGI message that starts it."""
        headers = {**self.headers, "Content-Length": str(len(self.body) + self.padding)}
        raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        return {"type": "http.response.start", "status": self.status, "headers": raw}


def spoil(form: Form, body: bytes, billed: Decimal) -> Response:
    """Malform a correct answer, which was billed."""
    match form:
        case "empty":
            return Response(200, b"")
        case "html":
            return Response(200, PAGE, HTML)
        case "huge":  # JSON allows any number of spaces, so reading to the end has no bound
            return Response(200, body, padding=HUGE)
        case "list":
            return Response(200, b"[" + body + b"]")
        case "truncated":
            return Response(200, body[: len(body) // 2])
    content: dict[str, Any] = parse_exactly(body)
    stated = billed if form in PRICED else None
    if form == "absurd-cost" and "cost" in content["metadata"]:
        stated = ABSURD_USD  # the detailed form contradicts itself: base and markup are as large
    SPOILERS[form](content)
    return Response(200, write_json(content), stated_usd=stated)


def _swap_types(content: dict[str, Any]) -> None:
    content["data"] = {item["code"]: [item["title"], True] for item in content["data"]}
    content["message"] = 200


def _write_nan(content: dict[str, Any]) -> None:
    """Write NaN, which is not JSON, for the cost and the lowest confidence."""
    _reprice(content, lambda _: Decimal("NaN"))
    for item in content["data"][-1:]:
        item["confidence"] = Decimal("NaN")


def _quote_confidences(content: dict[str, Any]) -> None:
    for item in content["data"]:
        item["confidence"] = str(item["confidence"])


def _prices(content: dict[str, Any]) -> dict[str, Any]:
    """Return the object that states the price."""
    metadata = content["metadata"]
    prices: dict[str, Any] = metadata.get("costBreakdown") or metadata["cost"]
    return prices


def _reprice(content: dict[str, Any], change: Callable[[Decimal], object]) -> None:
    """Change the price, with and without markup."""
    prices = _prices(content)
    for name in prices.keys() & {"apiCost", "markupAmount", "finalCost"}:
        prices[name] = change(prices[name])


SPOILERS: dict[Form, Callable[[dict[str, Any]], object]] = {
    "absurd-cost": lambda content: _reprice(content, lambda _: ABSURD_USD),
    "currency": lambda content: _prices(content).update(currency="EUR"),
    "duplicates": lambda content: content.update(data=2 * content["data"]),
    "nan": _write_nan,
    "negative-cost": lambda content: _reprice(content, lambda usd: -usd),
    "no-metadata": lambda content: content.pop("metadata"),
    "text-confidence": _quote_confidences,
    "text-costs": lambda content: _reprice(content, lambda usd: f"{usd:f}"),
    "types": _swap_types,
}

PRICED: tuple[Form, ...] = ("duplicates", "text-confidence", "text-costs", "types")
"""Forms that still state the price."""
