"""Decompresses the bodies of responses."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Final

from pipeline.paid.client.exchanges import Field

__all__ = ["codings", "decompressed"]

GZIP_OR_ZLIB: Final = 32 + zlib.MAX_WBITS
BARE_DEFLATE: Final = -zlib.MAX_WBITS
CODINGS: Final = (b"gzip", b"x-gzip", b"deflate")
MOST_CODINGS: Final = 4
"""The most times that a body is decompressed, whatever its headers say."""

GZIP: Final = b"\x1f\x8b"
MOST_MEMBERS: Final = 100
"""The most members of a gzip body. The bytes after a member are copied each time, so a megabyte of
empty members would take minutes."""


def codings(headers: Sequence[Field]) -> int:
    """Return how often headers say that a body was compressed in a way that `decompressed` knows.

    Every proxy on the way may compress it once more.
    """
    known = [
        coding
        for name, value in headers
        if name.lower() == b"content-encoding"
        for coding in value.split(b",")
        if coding.strip().lower() in CODINGS
    ]
    return min(len(known), MOST_CODINGS)


def decompressed(content: bytes, most: int) -> bytes:
    """Return a body without its compression; unchanged if it has none or is damaged.

    The client asks for no compression, but what was paid for must not be lost. Some servers send
    deflate without its zlib header, and some proxies decompress a body but leave its header.

    Args:
        content: the body as it came.
        most: how many bytes to return at most: a megabyte may hold a gigabyte of spaces.
    """
    try:
        return _members(content, most)
    except zlib.error:
        return _bare(content, most)


def _members(content: bytes, most: int) -> bytes:
    """Decompress gzip, which may have several members, or zlib."""
    found = b""
    for _ in range(MOST_MEMBERS):
        packing = zlib.decompressobj(GZIP_OR_ZLIB)
        found += packing.decompress(content, most - len(found))
        content = packing.unused_data
        if len(found) == most or not content.startswith(GZIP):
            break
    return found


def _bare(content: bytes, most: int) -> bytes:
    packing = zlib.decompressobj(BARE_DEFLATE)
    try:
        found = packing.decompress(content, most)
    except zlib.error:
        return content
    return found if packing.eof and not packing.unused_data else content
