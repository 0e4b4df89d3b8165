"""Evaluates gradient-boosted symmetric trees: each asks the same questions of all its leaves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pipeline.engine.model.arrays import Floats, Ints

__all__ = ["QUESTIONS", "STEP", "Trees"]

QUESTIONS = 4
"""Questions of a tree."""

STEP = 1 / 4096
"""What one level of a leaf adds to the log odds. Sums of whole numbers are exact in any order, so
a text has the same answer in every batch."""

TOGETHER = 2_048
"""Rows that are looked up at once, so that the arrays stay near the processor."""


@dataclass(frozen=True, slots=True, eq=False)
class Trees:
    """The sum of many small trees.

    Attributes:
        features: trees x questions, the column that each question is about.
        thresholds: trees x questions; the answer is whether the column is larger.
        leaves: trees x leaves, int16, levels of `STEP`; the answers are the bits of the leaf.
        start: what is added to every sum.
    """

    features: Ints
    thresholds: Floats
    leaves: Ints
    start: float

    def odds(self, rows: Floats) -> Floats:
        """Return the log odds of each row of features."""
        found = np.empty(len(rows))
        for at in range(0, len(rows), TOGETHER):
            found[at : at + TOGETHER] = self._sums(rows[at : at + TOGETHER]) * STEP + self.start
        return found

    def _sums(self, rows: Floats) -> Ints:
        columns = np.ascontiguousarray(rows.T)
        leaf = np.zeros((len(self.features), len(rows)), np.uint8)
        for question in range(self.features.shape[1]):
            larger = columns[self.features[:, question]] > self.thresholds[:, question, None]
            leaf += leaf
            leaf += larger
        first = np.arange(len(leaf), dtype=np.int32)[:, None] * self.leaves.shape[1]
        sums: Ints = self.leaves.reshape(-1)[first + leaf].sum(axis=0, dtype=np.int32)
        return sums
