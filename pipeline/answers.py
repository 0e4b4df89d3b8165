"""The answers that every matcher returns, and what a code is worth: sure, likely or doubtful."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Literal, Protocol, TypeAlias, TypeVar, get_args

import msgspec

from pipeline.money import ZERO

Batch = TypeVar("Batch", bound="_Rows")

System: TypeAlias = Literal["cpv", "psc", "unspsc", "naics"]

SYSTEMS: tuple[System, ...] = get_args(System)
"""The classification systems, in the order of their columns in the output."""


class Match(msgspec.Struct, frozen=True):
    """One candidate code for a text.

    Attributes:
        code: the code, as text: leading zeros count.
        title: the code's title.
        confidence: how sure the matcher is; for the embedded engine, a fraction from 0 to 1.
    """

    code: str
    title: str
    confidence: float


class Matched(msgspec.Struct, frozen=True):
    """Ranked matches, possibly none.

    Attributes:
        matches: the candidates, the best first.
        cost_usd: what this job paid for the answer, US dollars; None if unknown.
    """

    matches: tuple[Match, ...]
    cost_usd: Decimal | None = ZERO


class Explained(Matched, frozen=True):
    """Matches with the reasons for the best one.

    Attributes:
        why: the words of the text that support it, strongest first, comma-separated; "" if none.
    """

    why: str = ""


class Decided(Explained, frozen=True):
    """The decision of a person: the chosen code before the other matches, or no match at all.

    Attributes:
        why: who decided.
    """


class Failed(msgspec.Struct, frozen=True):
    """A lasting failure: no answer exists for this text.

    Attributes:
        error: the error type, such as ``VALIDATION_ERROR``; it becomes the row's status.
        cost_usd: what this job paid for it, US dollars; None if unknown.
    """

    error: str
    cost_usd: Decimal | None = ZERO


class Pending(msgspec.Struct, frozen=True):
    """No answer yet: the run parked before this call.

    Attributes:
        cost_usd: what this job paid for attempts without an answer, US dollars; None if unknown.
    """

    cost_usd: Decimal | None = ZERO


Answer: TypeAlias = Matched | Failed | Pending

BatchAnswers: TypeAlias = Mapping[System, Sequence[Answer | None]]
"""For each system, one answer per row of the batch; None for a row without text."""


class _Rows(Protocol):
    @property
    def texts(self) -> Sequence[str]: ...


class Matcher(Protocol):
    """Anything that answers batches of texts: the embedded engine, or the ledger."""

    def answers(self, batches: Iterable[Sequence[str]]) -> Iterator[BatchAnswers]:
        """Yield the answers of each batch of texts, in order.

        Args:
            batches: lists of texts; "" for a row without text.
        """
        ...


def answered(batches: Iterable[Batch], matcher: Matcher) -> Iterator[tuple[Batch, BatchAnswers]]:
    """Yield each batch with its answers; a matcher in several processes reads some ahead."""
    waiting: deque[Batch] = deque()

    def texts() -> Iterator[Sequence[str]]:
        for batch in batches:
            waiting.append(batch)
            yield batch.texts

    for answers in matcher.answers(texts()):
        yield waiting.popleft(), answers


def chance(confidence: float) -> str:
    """Return a confidence as people say it: ``about 7 in 10``."""
    tenths = round(10 * confidence)
    if tenths <= 0:
        return "less than 1 in 10"
    return "nearly certain" if tenths >= 10 else f"about {tenths} in 10"


Band: TypeAlias = Literal["sure", "likely", "doubtful"]

BANDS: tuple[Band, ...] = get_args(Band)
"""The bands, the best first. A row without a code is in none of them."""

SURE = 0.95
"""The confidence from which a code is sure."""

LIKELY = 0.5
"""The confidence from which a code is likely."""

OK_FROM: Mapping[System, float] = {
    "cpv": 0.81,
    "psc": 0.75,
    "unspsc": 0.77,
    "naics": 0.82,
}
"""The lowest confidence from which a code of the embedded engine is ``ok``.

An expert accepts 85 to 91 in 100 of such codes of sources that taught the judgement nothing; of
PSC and NAICS 85 from .72 and .70 on, but then 9 and 17 in 100 texts that say nothing are ``ok``.
16 % (cpv), 38 % (psc), 23 % (unspsc) and 29 % (naics) of their texts have such a code."""

OK_MEASURED = "about 85 in 100"
"""How many codes from `OK_FROM` on an expert accepts, for people."""

MEASURED: Mapping[Band, str] = {"sure": "24 in 25", "likely": "3 in 4", "doubtful": "3 in 8"}
"""How many codes of the embedded engine in each band an expert accepts, on the same texts: 97 to
98 % of the sure ones, 72 to 76 % of the likely, 34 to 39 % of the doubtful."""

LARGEST = 1e9
"""The largest confidence in figures; see `bounded`."""


def bounded(confidence: float) -> float:
    """Limit a confidence so that sums of it are finite: a service may state any float."""
    return max(-LARGEST, min(confidence, LARGEST))


def band(confidence: float) -> Band:
    """Return the band of a code's confidence; on any scale but 0 to 1, the code is doubtful.

    It does not depend on ``min_confidence``, which sets the status.
    """
    if not LIKELY <= confidence <= 1:
        return "doubtful"
    return "sure" if confidence >= SURE else "likely"
