"""Tells texts that are worded like the examples of a model from all other texts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pipeline.engine.model.arrays import Floats
from pipeline.engine.model.calibration import probability
from pipeline.engine.model.encoder import Encoder
from pipeline.engine.model.prototypes import unit
from pipeline.engine.model.reading import Reading

__all__ = ["Gate"]


@dataclass(frozen=True, slots=True)
class Gate:
    """A logistic regression on the directions of text vectors.

    Attributes:
        encoder: the encoder of the general model, because that of the model which the gate lets
            through knows little of other texts.
        weights: the coefficients of the regression; intercept first.
    """

    encoder: Encoder
    weights: Floats

    def openness(self, read: Reading) -> Floats:
        """Return the probability of each text that it is worded like the model's examples."""
        return read.kept(self._openness)

    def _openness(self, read: Reading) -> Floats:
        hidden = read(self.encoder).hidden
        # einsum sums each row in the same order, however many there are; BLAS does not.
        odds = np.einsum("ij,j->i", unit(hidden), self.weights[1:]) + self.weights[0]
        return probability(odds.astype(np.float64))
