"""Unpacks a compressed response a piece at a time: a megabyte may hold a gigabyte of spaces."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Iterator
from typing import Final

import httpx

__all__ = ["unpacked"]

PIECE: Final = 1 << 16
"""Bytes unpacked at once."""

GZIP_OR_ZLIB: Final = 32 + zlib.MAX_WBITS
CODINGS: Final = (b"gzip", b"x-gzip", b"deflate")


async def unpacked(response: httpx.Response) -> AsyncIterator[bytes]:
    """Yield a response's body without its compression, in pieces of a bounded size.

    None is asked for. What comes with gzip or deflate all the same is unpacked; what comes with
    anything else, or packed twice, is passed on as it is.

    Raises:
        httpx.DecodingError: the body is not what its header says.
    """
    assert isinstance(response.stream, httpx.AsyncByteStream)  # noqa: S101 - it is not sync
    if _coding(response.headers.raw) not in CODINGS:
        async for chunk in response.stream:
            yield chunk
        return
    packing = zlib.decompressobj(GZIP_OR_ZLIB)
    async for chunk in response.stream:
        for piece in _pieces(packing, chunk):
            yield piece


def _coding(headers: list[tuple[bytes, bytes]]) -> bytes:
    """Return how a body is packed; raw headers, because httpx takes long over decoding them."""
    named = [value for name, value in headers if name.lower() == b"content-encoding"]
    return b",".join(named).strip().lower()


def _pieces(packing: zlib._Decompress, chunk: bytes) -> Iterator[bytes]:
    while chunk:
        try:
            yield packing.decompress(chunk, PIECE)
        except zlib.error as error:
            raise httpx.DecodingError(str(error)) from error
        chunk = packing.unconsumed_tail
