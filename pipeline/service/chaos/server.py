"""An ASGI application around the service that injects the faults of a script."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import socket
import struct
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from email.utils import format_datetime
from hashlib import sha256
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from pipeline.service.chaos.faults import Dice, Fault, Form, Script
from pipeline.service.chaos.record import Record
from pipeline.service.http.messages import (
    ENDPOINTS,
    JSON,
    MAX_BODY,
    failure,
    parse_exactly,
    write_json,
)
from pipeline.service.http.protocol import BoundedHttp

ABSURD_USD = Decimal("1000000")
"""The price that an answer with an absurd cost states; the account pays the usual one."""

HUGE = 50 << 20
"""Bytes that are added to a huge answer."""

PAGE = (
    b"<!DOCTYPE html><html><head><title>One moment</title></head>"
    b"<body><h1>We are checking your browser.</h1></body></html>"
)

HTML = {"Content-Type": "text/html"}


@dataclass(frozen=True, slots=True)
class Response:
    """A response to send, with its headers but the length; it states a price in USD, or none."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": JSON})
    stated_usd: Decimal | None = None

    @property
    def start(self) -> Message:
        """The ASGI message that starts it."""
        headers = {**self.headers, "Content-Length": str(len(self.body))}
        raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        return {"type": "http.response.start", "status": self.status, "headers": raw}


def spoil(form: Form, body: bytes) -> Response:
    """Malform a correct answer, which was billed."""
    match form:
        case "html":
            return Response(200, PAGE, HTML)
        case "huge":  # JSON allows any number of spaces, so reading to the end has no bound
            return Response(200, body + b" " * HUGE)
        case "truncated":
            return Response(200, body[: len(body) // 2])
    content: dict[str, Any] = parse_exactly(body)
    (stating,) = content["metadata"]
    prices: dict[str, Any] = content["metadata"][stating]
    amounts = prices.keys() & {"apiCost", "markupAmount", "finalCost"}
    stated = None
    match form:
        case "absurd-cost":
            prices |= dict.fromkeys(amounts, ABSURD_USD)
            # The detailed form contradicts itself: base and markup are as large.
            stated = ABSURD_USD if stating == "cost" else None
        case "currency":
            prices["currency"] = "EUR"
        case "nan":  # which is not JSON
            for item in (prices, *content["data"][-1:]):
                item |= dict.fromkeys(item.keys() & {*amounts, "confidence"}, math.nan)
            return Response(200, json.dumps(content, default=float).encode())
        case "negative-cost":
            prices |= {name: -prices[name] for name in amounts}
        case "no-metadata":
            del content["metadata"]
    return Response(200, write_json(content), stated_usd=stated)


CONNECTION = "pipeline.connection"
"""Where the state of a request has its connection."""

RESET_ON_CLOSE = struct.pack("ii", 1, 0)
"""SO_LINGER with a time of 0: closing sends a reset (socket(7))."""

log = logging.getLogger("pipeline.service")


class DroppableConnections(BoundedHttp):
    """Speaks HTTP as the service does; the state of a request has the connection."""

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        cycle.scope["state"][CONNECTION] = self
        super()._start_asgi_task(cycle, app)

    def reset(self) -> None:
        """Reset the connection: unsent data is lost."""
        if not self.transport.is_closing():  # else the client has closed it
            connected = self.transport.get_extra_info("socket")
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
            self.transport.abort()


class FaultServer:
    """Passes calls to a service and injects faults; other requests pass unchanged.

    It needs uvicorn with `DroppableConnections` as the protocol.
    """

    def __init__(self, app: ASGIApp, script: Script, record: Record) -> None:
        self._app = app
        self._dice = Dice(script)
        self._record = record
        self._started = time.monotonic()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        system = ENDPOINTS.get(scope["path"]) if scope["method"] == "POST" else None
        if system is None:
            await self._app(scope, receive, send)
            return
        arrived = time.time()
        delay, fault = self._dice.throw(system, time.monotonic() - self._started)
        messages = await _read_messages(receive)
        number = self._record.add(arrived, system, _digest_in(messages))
        await asyncio.sleep(delay)
        if fault is not None:
            log.info("request %d (%s): %s", number, system, fault.kind)
        exchange = _Exchange(self._app, scope, messages, receive, send, self._record, number)
        await exchange.handle(fault)


@dataclass(frozen=True, slots=True)
class _Exchange:
    """A request whose body, `messages`, was read.

    What happens is in the record, under the request's number, before it is visible outside.
    """

    app: ASGIApp
    scope: Scope
    messages: list[Message]
    receive: Receive
    send: Send
    record: Record
    number: int

    async def handle(self, fault: Fault | None) -> None:
        """Answer the request, struck by a fault or not."""
        if fault is None:
            await self._answer(await self._work(), None)
            return
        match fault.kind:
            case "drop-before":
                await self._drop(fault.kind)
            case "refuse" | "error":
                await self._answer(_refusal(fault), fault.kind)
            case "stall":
                await asyncio.sleep(fault.setting("seconds"))
                await self._answer(await self._work(), fault.kind)
            case _:
                response = await self._work()
                if response.stated_usd is None:  # the service refused it: nothing to spoil
                    await self._answer(response, None)
                else:
                    await self._strike(fault, response)

    async def _strike(self, fault: Fault, response: Response) -> None:
        """Strike a correct answer, which was billed."""
        kind = fault.kind
        match kind:
            case "drop-after":
                await self._drop(kind)
            case "cut":
                self._note(replace(response, stated_usd=None), kind)
                await self.send(response.start)
                await self._send_body(response.body[: len(response.body) // 2], more=True)
                self.scope["state"][CONNECTION].transport.close()  # once everything written is sent
                await self._wait_for_end()
            case "drip":
                self._note(response, kind)
                await self.send(response.start)
                for position in range(len(response.body)):
                    await asyncio.sleep(fault.setting("seconds") / len(response.body))
                    await self._send_body(response.body[position : position + 1], more=True)
                await self._send_body(b"", more=False)
            case "gateway":
                await self._answer(Response(fault.setting("status"), PAGE, HTML), kind)
            case "garbage":
                form = fault.setting("form")
                await self._answer(spoil(form, response.body), f"{kind} {form}")

    async def _work(self) -> Response:
        """Let the service answer, and record what it billed."""
        waiting = iter(self.messages)
        parts: list[Message] = []

        async def replay() -> Message:
            message = next(waiting, None)
            return await self.receive() if message is None else message

        async def keep(message: Message) -> None:
            parts.append(message)

        self.record.note(self.number, worked_at=time.time())
        await self.app(self.scope, replay, keep)
        billed: Decimal | None = self.scope.get("state", {}).get("price_usd")
        self.record.note(self.number, billed_usd=billed)
        start, *others = parts
        headers = {name.decode(): value.decode() for name, value in start["headers"]}
        headers.pop("content-length", None)
        body = b"".join(part.get("body", b"") for part in others)
        return Response(start["status"], body, headers, billed)

    async def _answer(self, response: Response, fault: str | None) -> None:
        """Send a response."""
        self._note(response, fault)
        await self.send(response.start)
        await self._send_body(response.body, more=False)

    async def _drop(self, fault: str) -> None:
        """Reset the connection without an answer."""
        self._note(None, fault)
        self.scope["state"][CONNECTION].reset()
        await self._wait_for_end()

    def _note(self, response: Response | None, fault: str | None) -> None:
        """Record what is now sent, if anything."""
        status, stated = (response.status, response.stated_usd) if response else (None, None)
        self.record.note(
            self.number, answered_at=time.time(), fault=fault, status=status, stated_usd=stated
        )

    async def _send_body(self, content: bytes, more: bool) -> None:
        await self.send({"type": "http.response.body", "body": content, "more_body": more})

    async def _wait_for_end(self) -> None:
        """Wait until the server notices that the connection is closed."""
        while (await self.receive())["type"] != "http.disconnect":
            pass


async def _read_messages(receive: Receive) -> list[Message]:
    """Read a body, up to the size that the service accepts."""
    messages, size = [await receive()], 0
    while messages[-1]["type"] == "http.request" and messages[-1].get("more_body"):
        size += len(messages[-1].get("body", b""))
        if size > MAX_BODY:
            break
        messages.append(await receive())
    return messages


def _digest_in(messages: list[Message]) -> bytes | None:
    """Return the SHA-256 of the text in a body; None if there is none."""
    try:
        content = json.loads(b"".join(message.get("body", b"") for message in messages))
        return sha256(content["description"].encode()).digest()
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _refusal(fault: Fault) -> Response:
    """Return the response of a fault that strikes before the work."""
    if fault.kind == "error":
        if not fault.setting("envelope"):
            return Response(fault.setting("status"), PAGE, HTML)
        return Response(fault.setting("status"), failure(500, "The service failed."))
    headers, seconds = {"Content-Type": JSON}, math.ceil(fault.setting("seconds"))
    if fault.setting("retry-after") == "seconds":
        headers["Retry-After"] = str(seconds)
    elif fault.setting("retry-after") == "date":
        until = datetime.now(UTC) + timedelta(seconds=seconds)
        headers["Retry-After"] = format_datetime(until, usegmt=True)
    return Response(429, failure(429, "Too many requests."), headers)
