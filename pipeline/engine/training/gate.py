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
    """Return a gate that opens for texts worded like the examples, and not for the others.

    As many texts of both kinds are used, so an open gate is no more likely than a closed one.
    """
    random = np.random.default_rng(0)
    count = min(len(examples), len(others))
    both = [_directions(encoder, each, count, random) for each in (examples, others)]
    is_own = np.repeat([True, False], count)
    weights = logistic(np.concatenate(both), is_own, SHRINKAGE)
    return Gate(encoder, weights.astype(np.float32))


def _directions(
    encoder: Encoder, examples: Examples, count: int, random: np.random.Generator
) -> Floats:
    """Return the vectors of some random texts, scaled to unit length."""
    chosen = np.zeros(len(examples), np.bool_)
    chosen[random.permutation(len(examples))[:count]] = True
    portions = examples.where(chosen).portions()
    return np.concatenate([unit(encoder.hidden(each.parts[0])[0]) for each in portions])
