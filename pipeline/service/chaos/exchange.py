"""One request to the service, in the steps between which a fault can strike."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from hashlib import sha256
from typing import Any

import simplejson
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pipeline.service.chaos.kinds import Form
from pipeline.service.chaos.record import Record
from pipeline.service.http.messages import JSON, MAX_BODY
from pipeline.service.http.protocol import BoundedHttp

__all__ = [
    "ABSURD_USD",
    "HTML",
    "HUGE",
    "PAGE",
    "DroppableConnections",
    "Exchange",
    "Response",
    "connection_of",
    "digest_in",
    "garbled",
    "read_messages",
]


KEY = "pipeline.connection"

RESET_ON_CLOSE = struct.pack("ii", 1, 0)
"""SO_LINGER with a time of 0: closing sends a reset (socket(7))."""


class DroppableConnections(BoundedHttp):
    """Speaks HTTP as the service does; `connection_of` returns it to the app."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wrap the app for a new connection."""
        super().connection_made(transport)
        self.app = _with_connection(self.app, self)

    def reset(self) -> None:
        """Reset the connection: unsent data is lost."""
        if not self.transport.is_closing():  # else the client has closed it
            connected = self.transport.get_extra_info("socket")
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
            self.transport.abort()

    def write(self, data: bytes) -> None:
        """Send bytes that belong to no response."""
        self.transport.write(data)

    def close(self) -> None:
        """Close it once everything written is sent, even in the middle of a response."""
        self.transport.close()

    def close_if_idle(self) -> bool:
        """Close it unless a request is under way on it; return whether it was closed."""
        if self.transport.is_closing() or not self.cycle.response_complete:
            return False
        self.timeout_keep_alive_handler()
        return True


def connection_of(scope: Scope) -> DroppableConnections:
    """Return the connection of a request.

    Raises:
        RuntimeError: the server runs with another protocol.
    """
    connection = scope.get("extensions", {}).get(KEY)
    if not isinstance(connection, DroppableConnections):
        raise RuntimeError("Run uvicorn with http=DroppableConnections.")
    return connection


def _with_connection(app: ASGIApp, connection: DroppableConnections) -> ASGIApp:
    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        scope["extensions"] = {**scope.get("extensions", {}), KEY: connection}
        await app(scope, receive, send)

    return wrapped


PORTION = 64 * 1024


@dataclass(frozen=True, slots=True)
class Response:
    """A response to send, with its headers but the length, and spaces after the body as padding."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": JSON})
    billed_usd: Decimal | None = None
    padding: int = 0

    @property
    def start(self) -> Message:
        """The ASGI message that starts it."""
        length = str(len(self.body) + self.padding)
        headers = {**self.headers, "Content-Length": length}
        raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        return {"type": "http.response.start", "status": self.status, "headers": raw}


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request whose body, `messages`, was read, and the steps to answer it.

    What happens is in the record, under the request's number, before it is visible outside.
    """

    app: ASGIApp
    scope: Scope
    messages: list[Message]
    receive: Receive
    send: Send
    record: Record
    number: int

    async def work(self) -> Response:
        """Let the service answer, and record what it billed."""
        waiting = iter(self.messages)
        parts: list[Message] = []

        async def replayed() -> Message:
            message = next(waiting, None)
            return await self.receive() if message is None else message

        async def kept(message: Message) -> None:
            parts.append(message)

        self.record.works(self.number)
        await self.app(self.scope, replayed, kept)
        billed = self.scope.get("state", {}).get("price_usd")
        if billed is not None:
            self.record.billed(self.number, billed)
        return _response(parts, billed)

    async def answer(
        self, response: Response, fault: str | None = None, stated: Decimal | None = None
    ) -> None:
        """Send a response that states a price, or none."""
        self.record.answered(self.number, fault, response.status, stated)
        await self.send(response.start)
        await self._body(response.body, more=response.padding > 0)
        for left in range(response.padding, 0, -PORTION):
            await self._body(b" " * min(left, PORTION), more=left > PORTION)

    async def drip(self, response: Response, fault: str, seconds: float) -> None:
        """Send a correct answer byte by byte."""
        self.record.answered(self.number, fault, response.status, response.billed_usd)
        await self.send(response.start)
        for place in range(len(response.body)):
            await asyncio.sleep(seconds / len(response.body))
            await self._body(response.body[place : place + 1], more=True)
        await self._body(b"", more=False)

    async def duplicate(self, response: Response, fault: str) -> None:
        """Send an answer twice."""
        self.record.answered(self.number, fault, response.status, response.billed_usd)
        await self.send(response.start)
        await self._body(response.body, more=True)
        head = b"HTTP/1.1 %d OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        copy = head % (response.status, len(response.body)) + response.body
        connection_of(self.scope).write(copy)
        await self._body(b"", more=False)

    async def cut(self, response: Response, fault: str) -> None:
        """Send half of an answer and close the connection."""
        self.record.answered(self.number, fault, response.status, None)
        await self.send(response.start)
        await self._body(response.body[: len(response.body) // 2], more=True)
        connection_of(self.scope).close()
        await self._gone()

    async def drop(self, fault: str) -> None:
        """Reset the connection without an answer."""
        self.record.answered(self.number, fault, None, None)
        connection_of(self.scope).reset()
        await self._gone()

    async def close_behind(self, seconds: float) -> None:
        """Close the connection after the answer, unless it is in use again by then."""
        await asyncio.sleep(seconds)
        if connection_of(self.scope).close_if_idle():
            self.record.closed(self.number)

    async def _body(self, content: bytes, more: bool) -> None:
        await self.send({"type": "http.response.body", "body": content, "more_body": more})

    async def _gone(self) -> None:
        """Wait until the server notices that the connection is closed."""
        while (await self.receive())["type"] != "http.disconnect":
            pass


async def read_messages(receive: Receive) -> list[Message]:
    """Read a body, up to the size that the service accepts."""
    messages, size = [await receive()], 0
    while messages[-1]["type"] == "http.request" and messages[-1].get("more_body"):
        size += len(messages[-1].get("body", b""))
        if size > MAX_BODY:
            break
        messages.append(await receive())
    return messages


def digest_in(messages: list[Message]) -> bytes | None:
    """Return the SHA-256 of the text in a body; None if there is none."""
    try:
        content = json.loads(b"".join(message.get("body", b"") for message in messages))
        return sha256(content["description"].encode()).digest()
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _response(parts: list[Message], billed: Decimal | None) -> Response:
    start, *rest = parts
    headers = {name.decode(): value.decode() for name, value in start["headers"]}
    headers.pop("content-length", None)
    body = b"".join(part.get("body", b"") for part in rest)
    return Response(start["status"], body, headers, billed)


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
