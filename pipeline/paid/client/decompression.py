"""Decompresses the bodies of responses."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Final

import httpx

from pipeline.paid.client.exchanges import Field, Response

__all__ = ["decompressed", "is_compressed"]

PIECE: Final = 1 << 16
"""Bytes decompressed at once: a megabyte may hold a gigabyte of spaces."""

GZIP_OR_ZLIB: Final = 32 + zlib.MAX_WBITS
CODINGS: Final = (b"gzip", b"x-gzip", b"deflate")


async def decompressed(response: Response) -> AsyncIterator[bytes]:
    """Yield a response's body without its compression, in pieces of a bounded size.

    The client asks for no compression. If a body comes with gzip or deflate nevertheless, it is
    decompressed; with any other coding, or with two, it is passed on as it is.

    Raises:
        httpx.DecodingError: the body is not what its header says.
    """
    if not is_compressed(response.headers):
        async for chunk in response.stream:
            yield chunk
        return
    packing = zlib.decompressobj(GZIP_OR_ZLIB)
    async for chunk in response.stream:
        for piece in _pieces(packing, chunk):
            yield piece


def is_compressed(headers: Sequence[Field]) -> bool:
    """Return whether headers name a coding that `decompressed` knows."""
    named = [value for name, value in headers if name.lower() == b"content-encoding"]
    return b",".join(named).strip().lower() in CODINGS


def _pieces(packing: zlib._Decompress, chunk: bytes) -> Iterator[bytes]:
    while chunk:
        try:
            yield packing.decompress(chunk, PIECE)
        except zlib.error as error:
            raise httpx.DecodingError(str(error)) from error
        chunk = packing.unconsumed_tail
