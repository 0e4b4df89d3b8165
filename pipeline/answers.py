"""The answers that every matcher gives, whoever computed them and whatever they cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, Protocol, TypeAlias, get_args

from pipeline.money import ZERO

__all__ = [
    "SYSTEMS",
    "Answer",
    "BatchAnswers",
    "Explained",
    "Failed",
    "Match",
    "Matched",
    "Matcher",
    "Pending",
    "System",
]

System: TypeAlias = Literal["cpv", "psc", "unspsc", "naics"]

SYSTEMS: tuple[System, ...] = get_args(System)
"""The classification systems, in the order their columns stand in the output."""


@dataclass(frozen=True, slots=True)
class Match:
    """One candidate code for a text.

    Attributes:
        code: the code, digits held as text.
        title: the code's title.
        confidence: how sure the matcher is; a fraction for the embedded engine.
    """

    code: str
    title: str
    confidence: float


@dataclass(frozen=True, slots=True)
class Matched:
    """Ranked matches, best first; possibly none, which is an answer too.

    Attributes:
        matches: the candidates, best first.
        cost_usd: what this job paid for the answer, US dollars; None if nobody knows.
    """

    matches: tuple[Match, ...]
    cost_usd: Decimal | None = ZERO


@dataclass(frozen=True, slots=True)
class Explained(Matched):
    """Matches with what spoke for the best of them.

    Attributes:
        why: words of the text, the strongest first, separated by commas; "" for none.
    """

    why: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """A lasting failure: this text has no answer.

    Attributes:
        error: the error type, such as ``VALIDATION_ERROR``; it becomes the row's status.
        cost_usd: what this job paid for it, US dollars; None if nobody knows.
    """

    error: str
    cost_usd: Decimal | None = ZERO


@dataclass(frozen=True, slots=True)
class Pending:
    """No answer yet: the run parked before it came to this text.

    Attributes:
        cost_usd: what this job paid for attempts that gave none, US dollars; None if nobody knows.
    """

    cost_usd: Decimal | None = ZERO


Answer: TypeAlias = Matched | Failed | Pending

BatchAnswers: TypeAlias = Mapping[System, Sequence[Answer | None]]
"""For each system one answer a row of the batch; None where the row has no text."""


class Matcher(Protocol):
    """Anything that answers (system, texts)."""

    def answers(self, batches: Iterable[Sequence[str]]) -> Iterator[BatchAnswers]:
        """Answer batches of texts, one result a batch, in order.

        Args:
            batches: lists of texts; "" stands for a row without text.
        """
        ...
