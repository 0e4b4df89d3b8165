"""Compares two subjects on the same rows: the differences, their significance, the price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal
from math import sqrt
from typing import Literal

import numpy as np

from pipeline.evaluation.metrics import Depth, Scores, Z

SURE = 0.05
"""The significance level: a difference with a smaller p counts."""

_DIVISION = Context(prec=6, rounding=ROUND_HALF_EVEN)
"""A price per code is computed, not paid, so six digits are enough."""


@dataclass(frozen=True, slots=True)
class Difference:
    """How much more often the second subject is right than the first, on the same rows.

    Attributes:
        depth: how much of a code must be right.
        rows: the rows.
        only_a: the rows for which only the first subject is right.
        only_b: the rows for which only the second is.
    """

    depth: Depth
    rows: int
    only_a: int
    only_b: int

    @property
    def value(self) -> float:
        """The difference of the shares; positive if the second subject is better."""
        return (self.only_b - self.only_a) / self.rows

    @property
    def interval(self) -> tuple[float, float]:
        """The interval of Agresti and Min at 95 % (Statistics in Medicine 24, 2005).

        It is the normal interval after half a row is added to each of the four kinds of rows,
        which keeps it valid when the subjects hardly differ.
        """
        rows, b_only, less = self.rows + 2, self.only_b + 0.5, self.only_a + 0.5
        middle = (b_only - less) / rows
        half = Z * sqrt(b_only + less - (b_only - less) ** 2 / rows) / rows
        return max(-1.0, middle - half), min(1.0, middle + half)

    @property
    def p(self) -> float:
        """McNemar's exact test: how likely such a split, or a more uneven one, is by luck alone."""
        from scipy.stats import binomtest  # takes a second, which only comparisons need

        differing = self.only_a + self.only_b
        return float(binomtest(self.only_b, differing).pvalue) if differing else 1.0


@dataclass(frozen=True, slots=True)
class Comparison:
    """How two subjects differ.

    Attributes:
        differences: in best codes, at every depth; first that of what is right.
        usd: what the answers of the paid subject cost, US dollars; None if neither is paid, or a
            price is unknown.
        paid: which of the two is paid.
    """

    differences: Sequence[Difference]
    usd: Decimal | None = None
    paid: Literal["a", "b"] | None = None

    @property
    def first(self) -> Difference:
        """The difference in best codes that are right; it decides the verdict."""
        return self.differences[0]

    @property
    def better(self) -> Literal["a", "b"] | None:
        """Which subject is better; None if the difference is not significant."""
        if self.first.p >= SURE:
            return None
        return "b" if self.first.value > 0 else "a"

    @property
    def usd_per_code(self) -> Decimal | None:
        """The price of each additional right code, US dollars; None if the paid one has none."""
        more_codes = self.first.only_b - self.first.only_a
        gained = more_codes if self.paid == "b" else -more_codes
        if self.usd is None or self.paid is None or gained <= 0:
            return None
        return _DIVISION.divide(self.usd, Decimal(gained))


def compare(
    a: Scores, b: Scores, usd: Decimal | None = None, paid: Literal["a", "b"] | None = None
) -> Comparison:
    """Compare two subjects.

    ``usd`` is what the answers of the paid one cost.
    """
    differences = [
        _difference(a, b, depth) for depth in sorted(a.ranks, key=lambda depth: depth != a.measured)
    ]
    return Comparison(differences, usd, paid)


def _difference(a: Scores, b: Scores, depth: Depth) -> Difference:
    one, other = (np.array(scores.ranks[depth], np.uint8) == 1 for scores in (a, b))
    return Difference(depth, len(one), int((one & ~other).sum()), int((other & ~one).sum()))
