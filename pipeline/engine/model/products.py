"""Matrix arithmetic that inference and training share."""

from __future__ import annotations

import numpy as np

from pipeline.engine.model.arrays import Floats

__all__ = ["products", "softmax"]


def products(hidden: Floats, rows: Floats) -> Floats:
    """Return texts x rows: the dot product of each text's vector with each row.

    BLAS uses different routines for one vector and for several, and they round differently: of
    6,000 texts processed alone, 23 got a different last digit of a confidence, and one a different
    tenth match. So a single vector is duplicated first; with the rows as the left operand this
    takes half as long and rounds the same.
    """
    if len(hidden) > 1:
        return hidden @ rows.T
    both: Floats = rows @ np.repeat(hidden, 2, axis=0).T
    return np.ascontiguousarray(both[:, : len(hidden)].T)


def softmax(scores: Floats) -> Floats:
    """Apply softmax to each row, in place."""
    scores -= scores.max(axis=1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=1, keepdims=True)
    return scores
