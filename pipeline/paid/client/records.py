"""What the ledger keeps of a language model's response: what it was asked, then its bytes."""

from __future__ import annotations

from typing import Final

import msgspec

from pipeline.answers import Match, System
from pipeline.paid.client.prices import TokenPrices

__all__ = ["MAGIC", "Asked", "is_record", "read_record"]

MAGIC: Final = b"chat/1 "
"""How a record begins, and no JSON; so a kept response says by itself which protocol it is of."""


class Asked(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a model was asked, without the text: enough to read its response years later.

    Attributes:
        system: the classification system.
        prompt: the version of the prompt.
        tool: the version of this package, whose engine found the candidates.
        token_prices: what tokens cost, as the user said when this was asked.
        candidates: the codes to choose from, each with its title and the engine's confidence; the
            first is A, the next B.
        changed: whether the client has changed its requests because of this response.
    """

    system: System
    prompt: int
    tool: str
    token_prices: TokenPrices
    candidates: tuple[tuple[str, str, float], ...]
    changed: bool = False

    @property
    def matches(self) -> tuple[Match, ...]:
        """The candidates as the engine's matches, the best first."""
        return tuple(Match(*candidate) for candidate in self.candidates)

    def record(self, response: bytes) -> bytes:
        """Return the record of a response."""
        return MAGIC + _encoder.encode(self) + b"\n" + response


_encoder: Final = msgspec.json.Encoder()
_decoder: Final = msgspec.json.Decoder(Asked)


def is_record(body: bytes) -> bool:
    """Return whether a body begins like a record."""
    return body.startswith(MAGIC)


def read_record(body: bytes) -> tuple[Asked, bytes] | None:
    """Return what a record says was asked, and the response; None if it is none, or damaged."""
    if not is_record(body):
        return None
    asked, _, response = body[len(MAGIC) :].partition(b"\n")
    try:
        return _decoder.decode(asked), response
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
