"""What a call is, how its attempts can stand, and what answers it for good."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal, TypeAlias, get_args

from pipeline.answers import System
from pipeline.errors import LedgerError

__all__ = [
    "EVERY_STATE",
    "INTERRUPTED",
    "LASTING",
    "Call",
    "LastingState",
    "Owned",
    "PassingState",
    "State",
    "packed",
    "text_digest",
    "unpacked",
]

LastingState: TypeAlias = Literal["answered", "refused", "unreadable"]
"""The call has ended: with matches, with an error of its own, or with a body nobody can read."""

PassingState: TypeAlias = Literal["free", "unconfirmed"]
"""The call is open still: the attempt was certainly not billed, or its answer was lost."""

LASTING: tuple[LastingState, ...] = get_args(LastingState)

State: TypeAlias = LastingState | PassingState | Literal["sent", "billed", "pruned"]
"""How an attempt stands: under way, ended, or as a user said since.

Billed is one that was unconfirmed, pruned one that was answered. Both leave their call open: what
they cost is known as well as ever, the answer is gone.
"""

EVERY_STATE: tuple[State, ...] = tuple(
    state for some in get_args(State) for state in get_args(some)
)

INTERRUPTED = "INTERRUPTED"
"""The error of an attempt whose process ended before its answer was written down."""


@dataclass(frozen=True, slots=True)
class Call:
    """One question to the service.

    Attributes:
        system: the classification system asked about.
        text: the text sent.
    """

    system: System
    text: str

    @property
    def digest(self) -> bytes:
        """What stands for the text in the ledger."""
        return text_digest(self.text)


@dataclass(frozen=True, slots=True)
class Owned:
    """The response that answers a call for good.

    Attributes:
        status: its HTTP status.
        body: its bytes, as received.
    """

    status: int
    body: bytes


def text_digest(text: str) -> bytes:
    """Return the SHA-256 of the text as it is sent."""
    return sha256(text.encode()).digest()


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
