"""A response as a connection returns it, and what is raised if there is none."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import httpx
import msgspec

__all__ = [
    "Body",
    "BrokenResponseError",
    "DisconnectedError",
    "Field",
    "ProxyError",
    "Response",
]

Field = tuple[bytes, bytes]
"""The name and the value of a header."""


class DisconnectedError(ConnectionError):
    """The server closed the connection before the end of its response."""


class BrokenResponseError(ConnectionError):
    """The response is not HTTP."""


class ProxyError(ConnectionError):
    """An exchange through a proxy failed; its cause says how.

    Attributes:
        unreachable: whether there is no connection to the proxy itself.
    """

    def __init__(self, unreachable: bool) -> None:
        super().__init__()
        self.unreachable = unreachable


class Response(msgspec.Struct, frozen=True):
    """A response: its status, its headers as sent, and its body, or a stream if it is arriving."""

    status: int
    headers: Sequence[Field]
    body: bytes | httpx.AsyncByteStream


class Body(httpx.AsyncByteStream):
    """A request's body that notes when the transport begins to send it.

    A transport asks for the body only once it has a connection, including TLS. The service cannot
    have billed a failure before that, whichever exception it is.

    Args:
        content: all of it.

    Attributes:
        content: as above.
        begun: whether the transport asked for it.
    """

    __slots__ = ("begun", "content")

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.begun = False

    def begin(self) -> bytes:
        """Return the content, to send it now."""
        self.begun = True
        return self.content

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self.begin()
