"""Remembers what the texts of each code looked like, as a few typical vectors a code."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from pipeline.engine.model.arrays import Floats, Ints
from pipeline.engine.model.largest import largest
from pipeline.engine.model.products import products

__all__ = ["Memory", "remember", "unit"]

NEAREST = 50
SHARPNESS = 15.0
"""A typical vector speaks exp(SHARPNESS * (cosine - 1)) for its code."""

PER_CODE = 0.5
"""A code seen in n texts is remembered as n to this power vectors.

With 0.7 the vectors are twice as many, and at most .002 more of the held back texts have their code
first."""

ROUNDS = 6

AT_ONCE = 4_096
"""Texts compared with typical vectors in one matrix; bounds the memory."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Typical vectors of unit length, the place of each one's code, how many texts it is for."""

    vectors: Floats
    labels: Ints
    texts: Floats

    def shares(self, hidden: Floats, codes: int) -> Floats:
        """Return texts x codes: which codes the texts' neighbours have."""
        near = products(unit(hidden), self.vectors)
        row, place, cosine = largest(near, min(NEAREST, near.shape[1]))
        pull = np.exp(SHARPNESS * (cosine - 1)) * self.texts[place]
        shape = (len(hidden), codes)
        found = np.bincount(row * codes + self.labels[place], pull, codes * len(hidden))
        shares: Floats = found.reshape(shape).astype(np.float32)
        shares /= shares.sum(axis=1, keepdims=True) + 1e-12
        return shares


def unit(rows: Floats) -> Floats:
    """Return rows of length one; a row of nothing stays so."""
    unit: Floats = rows / (np.linalg.norm(rows, axis=1, keepdims=True) + 1e-9)
    return unit


def remember(hidden: Floats, labels: Ints, weights: Floats) -> Memory:
    """Gather the texts of each code around a few typical vectors (spherical k-means)."""
    random = np.random.default_rng(0)
    hidden = unit(hidden)
    order = np.argsort(labels, kind="stable")
    borders = np.flatnonzero(np.diff(labels[order])) + 1
    parts = [_typical(hidden[rows], weights[rows], random) for rows in np.split(order, borders)]
    codes = labels[order[np.concatenate([[0], borders])]]
    return Memory(
        np.concatenate([vectors for vectors, _ in parts]).astype(np.float32),
        np.repeat(codes, [len(vectors) for vectors, _ in parts]),
        np.concatenate([texts for _, texts in parts]).astype(np.float32),
    )


def _typical(hidden: Floats, weights: Floats, random: np.random.Generator) -> tuple[Floats, Floats]:
    """Return (typical vectors of one code, the weight of the texts around each)."""
    count = int(np.ceil(len(hidden) ** PER_CODE))
    centres = hidden[random.choice(len(hidden), count, replace=False)]
    for _ in range(ROUNDS if count < len(hidden) else 0):
        ones = np.ones(len(hidden), np.float32)
        where = (_nearest(hidden, centres), np.arange(len(hidden)))
        centres = unit(sparse.csr_matrix((ones, where), (count, len(hidden))) @ hidden)
    texts: Floats = np.bincount(_nearest(hidden, centres), weights, count).astype(np.float32)
    return centres[texts > 0], texts[texts > 0]


def _nearest(hidden: Floats, centres: Floats) -> Ints:
    parts = range(0, len(hidden), AT_ONCE)
    return np.concatenate([(hidden[at : at + AT_ONCE] @ centres.T).argmax(axis=1) for at in parts])
