"""Says when an answer is right, and to what depth of the code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from pipeline.answers import System
from pipeline.codes.table import cut, levels_above, stem

__all__ = [
    "ACCEPTED",
    "EXACT",
    "STATED",
    "Depth",
    "broad",
    "depths",
    "is_bare",
    "measured_depth",
]


@dataclass(frozen=True, slots=True)
class Depth:
    """How much of a code must be right.

    Attributes:
        name: its name in reports and in the JSON.
        digits: how many leading digits count: a number, ``all``, or as many as the label states.
    """

    name: str
    digits: int | Literal["all", "stated"]

    def rank(self, system: System, truth: str, answers: Sequence[str]) -> int:
        """Return the rank of the first answer that is right to this depth, from 1; 0 if none is."""
        if not truth:
            return 0
        if self.digits == "all":
            return answers.index(truth) + 1 if truth in answers else 0
        digits = len(stem(system, truth)) if self.digits == "stated" else self.digits
        wanted = cut(system, truth, digits)
        for place, answer in enumerate(answers, start=1):
            if cut(system, answer, digits) == wanted:
                return place
        return 0


ACCEPTED = Depth("accepted", "all")
"""Any code that people accept is right; `pipeline.decisions.Decision.verdict` says which."""

EXACT = Depth("full code", "all")
STATED = Depth("as far as stated", "stated")
"""A label 45000000 states a division: any code of division 45 is right."""


def depths(system: System) -> Sequence[Depth]:
    """Return the depths that are measured, from the whole code up to the first level."""
    levels = [Depth(name, digits) for digits, name in levels_above(system).items()]
    return [EXACT, STATED, *reversed(levels)]


def broad(system: System) -> Depth:
    """Return the level of two digits: division, group, segment or sector."""
    return next(depth for depth in depths(system) if depth.digits == 2)


def is_bare(system: System, code: str) -> bool:
    """Return whether a code is no deeper than a division, group, segment or sector."""
    return len(stem(system, code)) <= 2


def measured_depth(system: System, labels: Iterable[str]) -> Depth:
    """Return to what depth a code must be right to count as right: the full code.

    If no label is deeper than a division (segment, ...), nobody knows the full codes, and answers
    are right as far as the labels state.
    """
    return STATED if all(is_bare(system, label) for label in labels) else EXACT
