"""A response as a connection returns it, and what is raised if there is none."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

import httpx

__all__ = [
    "BrokenResponseError",
    "DisconnectedError",
    "Field",
    "ProxyError",
    "Response",
    "Whole",
]

Field = tuple[bytes, bytes]
"""The name and the value of a header."""


class DisconnectedError(ConnectionError):
    """The server closed the connection before its response."""


class BrokenResponseError(ConnectionError):
    """The response is not HTTP, or ended too early."""


class ProxyError(ConnectionError):
    """An exchange through a proxy failed; its cause says how.

    Attributes:
        unreachable: whether there is no connection to the proxy itself.
    """

    def __init__(self, unreachable: bool) -> None:
        super().__init__()
        self.unreachable = unreachable


@dataclass(frozen=True, slots=True)
class Response:
    """A response: its status, its headers as sent, and its body, which may not have arrived yet."""

    status: int
    headers: Sequence[Field]
    stream: httpx.AsyncByteStream


class Whole(httpx.AsyncByteStream):
    """A body that has arrived.

    Args:
        content: all of it.
    """

    __slots__ = ("content",)

    def __init__(self, content: bytes) -> None:
        self.content = content

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self.content
