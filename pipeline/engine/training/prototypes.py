"""Learns the prototype vectors of each code, by clustering the vectors of its texts."""

from __future__ import annotations

import numpy as np

from pipeline.engine.model.arrays import Floats, Ints
from pipeline.engine.model.products import rounded
from pipeline.engine.model.prototypes import Memory, unit

__all__ = ["remember"]

PER_CODE = 0.5
"""A code whose texts weigh n gets n ** PER_CODE prototypes.

With 0.7 there are twice as many prototypes, and at most .002 more of the held-out texts have their
code first."""

LEAST = 0.65
"""A prototype whose texts weigh less is left out, unless it is the heaviest one of its code.

It stands for one or two titles or phrases. Without these there are 44 % fewer prototypes."""

ROUNDS = 6

AT_ONCE = 4_096
"""Texts compared with prototypes in one matrix; limits memory use."""


def remember(hidden: Floats, labels: Ints, weights: Floats) -> Memory:
    """Cluster the texts of each code into a few prototypes (spherical k-means)."""
    random = np.random.default_rng(0)
    hidden = unit(hidden)
    order = np.argsort(labels, kind="stable")
    borders = np.flatnonzero(np.diff(labels[order])) + 1
    parts = [_typical(hidden[rows], weights[rows], random) for rows in np.split(order, borders)]
    codes = labels[order[np.concatenate([[0], borders])]]
    return Memory(
        rounded(np.concatenate([vectors for vectors, _ in parts])),
        np.repeat(codes, [len(vectors) for vectors, _ in parts]),
        np.concatenate([texts for _, texts in parts]).astype(np.float32),
    )


def _typical(hidden: Floats, weights: Floats, random: np.random.Generator) -> tuple[Floats, Floats]:
    """Return (the prototypes of one code, the total weight of the texts nearest to each)."""
    count = min(len(hidden), int(np.ceil(weights.sum() ** PER_CODE)))
    centres = hidden[random.choice(len(hidden), count, replace=False)]
    for _ in range(ROUNDS if count < len(hidden) else 0):
        nearest = _nearest(hidden, centres)
        order = np.argsort(nearest, kind="stable")
        found, first = np.unique(nearest[order], return_index=True)
        sums = np.zeros_like(centres)  # a prototype that is nearest to no text becomes zero
        sums[found] = np.add.reduceat(hidden[order], first)
        centres = unit(sums)
    texts: Floats = np.bincount(_nearest(hidden, centres), weights, count).astype(np.float32)
    kept = texts >= min(LEAST, texts.max())
    return centres[kept], texts[kept]


def _nearest(hidden: Floats, centres: Floats) -> Ints:
    parts = range(0, len(hidden), AT_ONCE)
    return np.concatenate([(hidden[at : at + AT_ONCE] @ centres.T).argmax(axis=1) for at in parts])
