"""Learns to tell texts that are worded like the examples of a model from all other texts."""

from __future__ import annotations

import numpy as np

from pipeline.engine.model.arrays import Floats
from pipeline.engine.model.calibration import logistic
from pipeline.engine.model.encoder import Encoder
from pipeline.engine.model.gate import Gate
from pipeline.engine.model.prototypes import unit
from pipeline.engine.training.examples import Examples

__all__ = ["learned_gate"]

SHRINKAGE = 1.0
"""How strongly the weights are kept near zero."""


def learned_gate(encoder: Encoder, examples: Examples, others: Examples) -> Gate:
    """Return a gate that opens for texts worded like the examples, and not for the others."""
    both = [_directions(encoder, each) for each in (examples, others)]
    is_own = np.repeat([True, False], [len(examples), len(others)])
    weights = logistic(np.concatenate(both), is_own, SHRINKAGE)
    return Gate(encoder, weights.astype(np.float32))


def _directions(encoder: Encoder, examples: Examples) -> Floats:
    """Return the text vectors, scaled to unit length."""
    return np.concatenate(
        [unit(encoder.encode(each.parts[0]).hidden) for each in examples.portions()]
    )
