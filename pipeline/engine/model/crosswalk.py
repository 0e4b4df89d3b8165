"""Scores the codes of a system by the CPV codes of a text, through the crosswalk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pipeline.engine.model.arrays import Floats, Ints
from pipeline.engine.model.reading import Reading

__all__ = ["Crosswalk", "crosswalk"]

STEEPNESS = 8
"""The weight is multiplied by (1 - openness of the gate) to this power.

Of texts worded like the labelled ones, one in ten or twenty half opens the gate. With a power of 1,
their first codes are worse (UNSPSC .362 exact instead of .370, 5,000 texts), with 8 they are not
(.369), and descriptions in words of our own gain the same."""

LEAST = 0.01
"""With a smaller weight, CPV is not asked about a text, which saves time."""


class CpvShares(Protocol):
    """The general model of CPV."""

    def shares(self, read: Reading) -> tuple[Floats, Floats]:
        """Return the codes' shares; see `pipeline.engine.model.scorer.Scores`."""
        ...


@dataclass(frozen=True, slots=True)
class Crosswalk:
    """What the CPV codes of a text say about its codes in another system.

    Attributes:
        cpv: the model of CPV, whose labelled texts are in more languages than other systems'.
        counterparts: for each code of ``cpv``, the index of the code of the other system that fits
            it best; -1 if there is none.
        weight: the weight of the counterparts in the scores of a text that closes the gate.
        order: the indices of the CPV codes that have a counterpart, sorted by it.
        codes: the codes that are counterparts.
        starts: where the CPV codes of each of them begin in ``order``.
    """

    cpv: CpvShares
    counterparts: Ints
    weight: float
    order: Ints
    codes: Ints
    starts: Ints

    def mix(self, shares: Floats, openness: Floats, read: Reading) -> None:
        """Mix the shares of the counterparts into those of the codes, in place.

        Args:
            shares: texts x codes of the other system.
            openness: how far each text opens the gate, from 0 to 1.
            read: the texts.
        """
        weight = self.weight * (1 - openness) ** STEEPNESS
        asked = np.flatnonzero(weight >= LEAST)
        if not len(asked):
            return
        cpv, _ = read.of(self.cpv.shares, asked)
        # Unlike an index, take keeps rows in one piece, so that sums do not depend on their number.
        found = np.add.reduceat(cpv.take(self.order, axis=1), self.starts, axis=1)
        found *= weight[asked, None].astype(np.float32)
        # A CPV code without a counterpart says nothing: its share stays with the other scores.
        shares[asked] *= 1 - found.sum(axis=1, keepdims=True)
        shares[np.ix_(asked, self.codes)] += found


def crosswalk(cpv: CpvShares, counterparts: Ints, weight: float) -> Crosswalk:
    """Return the crosswalk from CPV to another system; see `Crosswalk`."""
    order = np.argsort(counterparts, kind="stable")
    order = order[counterparts[order] >= 0]
    codes, starts = np.unique(counterparts[order], return_index=True)
    return Crosswalk(cpv, counterparts, weight, order, codes, starts)
