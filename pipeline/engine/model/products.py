"""Arithmetic on matrices of texts that inference and training share."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from pipeline.engine.model.arrays import Floats, Ints

__all__ = ["compact", "products", "softmax"]


def products(hidden: Floats, rows: Floats) -> Floats:
    """Return texts x rows: the product of each text's vector with each row.

    BLAS multiplies one vector by another routine than several, which rounds otherwise: alone, 23
    of 6,000 texts got another last digit of a confidence, and one another tenth match. So one is
    multiplied as two; with the rows in front that takes half as long, and rounds alike.
    """
    if len(hidden) > 1:
        return hidden @ rows.T
    both: Floats = rows @ np.repeat(hidden, 2, axis=0).T
    return np.ascontiguousarray(both[:, : len(hidden)].T)


def softmax(scores: Floats) -> Floats:
    """Return the rows as shares of one, in place."""
    scores -= scores.max(axis=1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=1, keepdims=True)
    return scores


def compact(vectors: sparse.csr_matrix) -> tuple[sparse.csr_matrix, Ints]:
    """Return (texts x features that occur, which those are)."""
    used, local = np.unique(vectors.indices, return_inverse=True)
    shape = (vectors.shape[0], len(used))
    return sparse.csr_matrix((vectors.data, local, vectors.indptr), shape), used
