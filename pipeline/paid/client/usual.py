"""Reads the usual form of an answer several times as fast as `responses`, and leaves the rest."""

from __future__ import annotations

from operator import attrgetter
from typing import Final

import msgspec

from pipeline.answers import Match

__all__ = ["MAX_BODY", "UsualAnswer", "read_usual"]

MAX_BODY: Final = 1 << 20
"""The largest body that is read, bytes; ten matches take about two thousand."""


class UsualAnswer(msgspec.Struct, frozen=True):
    """A success in UTF-8 with the documented types; its matches are in the order received."""

    success: bool
    data: list[Match]
    metadata: msgspec.Raw = msgspec.Raw(b"{}")

    @property
    def matches(self) -> tuple[Match, ...]:
        """The matches, the best first."""
        return tuple(sorted(self.data, key=CONFIDENCE, reverse=True))


CONFIDENCE = attrgetter("confidence")

_decode: Final = msgspec.json.Decoder(UsualAnswer).decode


def read_usual(status: int, body: bytes) -> UsualAnswer | None:
    """Return an answer in the usual form; None if `responses` must read it.

    msgspec accepts only part of what `decoded` accepts. Where it reads a value differently, the
    result is None: it has no negative zero.
    """
    if not 200 <= status <= 299 or len(body) > MAX_BODY:
        return None
    try:
        answer = _decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return answer if answer.success and _is_clean(answer.data) else None


def _is_clean(matches: list[Match]) -> bool:
    """Return whether every match has a code of its own, and a confidence that is not 0."""
    codes = [match.code for match in matches]
    return (
        len({*codes}) == len(codes)
        and 0.0 not in [match.confidence for match in matches]
        and "" not in codes
        and ("".join(codes).isalnum() or codes == [code.strip() for code in codes])
    )
