"""One request to the service, in the steps between which a fault can strike."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from hashlib import sha256

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pipeline.service.chaos.connections import connection_of
from pipeline.service.chaos.record import Record
from pipeline.service.http.requests import JSON, MAX_BODY

__all__ = ["Exchange", "Response", "digest_in", "read_messages"]

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
