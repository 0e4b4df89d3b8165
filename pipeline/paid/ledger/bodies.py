"""Packs the responses that the ledger keeps, and unpacks them again."""

from __future__ import annotations

import zlib

from pipeline.errors import LedgerError

__all__ = ["packed", "unpacked"]


def packed(body: bytes) -> bytes:
    """Return a response as the ledger keeps it."""
    return zlib.compress(body)


def unpacked(attempt: int, kept: object) -> bytes:
    """Return a response as it was received.

    Args:
        attempt: the number of its attempt.
        kept: what the ledger has of it.

    Raises:
        LedgerError: it is damaged.
    """
    try:
        return zlib.decompress(kept) if isinstance(kept, bytes) else _refused(type(kept).__name__)
    except zlib.error as error:
        raise LedgerError(
            f"The body of attempt {attempt} cannot be unpacked: {error}.",
            "See what else is wrong: tender-pipeline ledger verify. Then put a good copy of the "
            "ledger in its place, or name another: --ledger PATH.",
        ) from error


def _refused(kind: str) -> bytes:
    raise zlib.error(f"it is {kind}")
