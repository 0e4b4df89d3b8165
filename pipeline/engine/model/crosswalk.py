"""Scores the codes of a system by the CPV codes of a text, through the crosswalk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pipeline.engine.model.arrays import Floats, Ints
from pipeline.engine.model.reading import Reading

__all__ = ["Crosswalk"]

STEEPNESS = 8
"""The weight is multiplied by (1 - openness of the gate) to this power.

Of texts worded like the labelled ones, one in ten or twenty half opens the gate. With a power of 1,
their first codes are worse (UNSPSC .362 exact instead of .370, 5,000 texts), with 8 they are not
(.369), and descriptions in words of our own gain the same."""

LEAST = 0.01
"""With a smaller weight, CPV is not asked about a text, which saves time."""

LEAST_SHARE = 1e-3
"""CPV codes with a smaller share are left out, as most codes are, which saves time."""


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
    """

    cpv: CpvShares
    counterparts: Ints
    weight: float

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
        row, code = np.divmod(np.flatnonzero(cpv >= LEAST_SHARE), cpv.shape[1])
        known = self.counterparts[code] >= 0
        row, code = row[known], code[known]
        found = (cpv[row, code] * weight[asked[row]]).astype(np.float32)
        # A CPV code without a counterpart says nothing: its share stays with the other scores.
        left = 1 - np.bincount(row, found, len(asked))
        shares[asked] *= left[:, None].astype(np.float32)
        np.add.at(shares, (asked[row], self.counterparts[code]), found)
