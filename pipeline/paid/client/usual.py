"""Reads the usual form of an answer several times as fast as `responses`, and leaves the rest."""

from __future__ import annotations

import re
from collections.abc import Sequence
from operator import attrgetter
from typing import Final, TypeVar

import msgspec

from pipeline.answers import Match

__all__ = ["MAX_BODY", "UsualAnswer", "read_usual", "usual_matches"]

MAX_BODY: Final = 1 << 20
"""The largest body that is read, bytes; ten matches take about two thousand."""


ESCAPED_ASCII: Final = re.compile(rb"\\u00[2-7]")
"""An escape that nobody needs: it may hide a name."""


class UsualMatches(msgspec.Struct, frozen=True):
    """A success in UTF-8 with the documented types; its matches are in the order received."""

    success: bool
    data: tuple[Match, ...]

    @property
    def matches(self) -> tuple[Match, ...]:
        """The matches, the best first."""
        confidences = [match.confidence for match in self.data]
        if confidences == sorted(confidences, reverse=True):
            return self.data  # as most services send them
        return tuple(sorted(self.data, key=CONFIDENCE, reverse=True))


class UsualAnswer(UsualMatches, frozen=True):
    """The same with what states its price."""

    metadata: msgspec.Raw = msgspec.Raw(b"{}")


CONFIDENCE = attrgetter("confidence")

_answer: Final = msgspec.json.Decoder(UsualAnswer)
_matches: Final = msgspec.json.Decoder(UsualMatches)

T = TypeVar("T", bound=UsualMatches)


def read_usual(status: int, body: bytes) -> UsualAnswer | None:
    """Return an answer in the usual form; None if `responses` must read it.

    msgspec accepts only part of what `decoded` accepts. Where it reads a value differently, the
    result is None: it has no negative zero. Of several values of one name, it keeps the last
    without a word, so that metadata must be named once at most.
    """
    if body.count(b'"metadata"') > 1 or ESCAPED_ASCII.search(body):
        return None
    return _read(_answer, status, body)


def usual_matches(status: int, body: bytes) -> tuple[Match, ...] | None:
    """Return the matches of an answer whose price is known, the best first; None as above."""
    answer = _read(_matches, status, body)
    return None if answer is None else answer.matches


def _read(decoder: msgspec.json.Decoder[T], status: int, body: bytes) -> T | None:
    if not 200 <= status <= 299 or len(body) > MAX_BODY:
        return None
    try:
        answer = decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return answer if answer.success and _is_clean(answer.data) else None


def _is_clean(matches: Sequence[Match]) -> bool:
    """Return whether every match has a code of its own, and a confidence that is not 0."""
    codes = [match.code for match in matches]
    return (
        len({*codes}) == len(codes)
        and 0.0 not in [match.confidence for match in matches]
        and "" not in codes
        and ("".join(codes).isalnum() or codes == [code.strip() for code in codes])
    )
