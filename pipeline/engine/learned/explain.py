"""Which words of a text spoke for the code that a model gave it.

The network's score of a code is linear in the features of a text, so what a feature speaks for one
code, against what it speaks for the others by their shares, is exact. The memory, which has the
smaller part in an answer, is left out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from pipeline.engine.learned.arrays import Bools, Floats, Ints
from pipeline.engine.learned.features import count, parts, tokens
from pipeline.engine.learned.model import AT_ONCE, Model
from pipeline.engine.learned.network import softmax
from pipeline.engine.learned.nibbles import unpack
from pipeline.engine.reasons import Reasons, strongest

__all__ = ["explain"]


def explain(model: Model, texts: Sequence[str], places: Sequence[Ints]) -> list[Reasons]:
    """Return the strongest words for the code of each text; none where the model knows none.

    Args:
        model: what gave the codes.
        texts: what it gave them to.
        places: for each text the place of its code in the model, or the places of several codes
            that were answered as one.
    """
    found: list[Reasons] = []
    for at in range(0, len(texts), AT_ONCE):
        found += _explain(model, texts[at : at + AT_ONCE], places[at : at + AT_ONCE])
    return found


def _explain(model: Model, texts: Sequence[str], places: Sequence[Ints]) -> list[Reasons]:
    vectors, _ = model.vocabulary.vectors(count(texts))
    vectors.sort_indices()
    pulls = _pulls(model, vectors, places)
    features = model.vocabulary.features[vectors.indices]
    ends = zip(vectors.indptr[:-1], vectors.indptr[1:], strict=True)
    return [
        strongest(text, parts(text), features[start:end], pulls[start:end], tokens)
        for text, (start, end) in zip(texts, ends, strict=True)
    ]


def _pulls(model: Model, vectors: sparse.csr_matrix, places: Sequence[Ints]) -> Floats:
    """Return how much each feature of each text speaks for its code, in the order of the data."""
    used, local = np.unique(vectors.indices, return_inverse=True)
    weights = unpack(model.packed[used], model.scales[used], model.directions.shape[1])
    shape = (vectors.shape[0], len(used))
    hidden = sparse.csr_matrix((vectors.data, local, vectors.indptr), shape) @ weights
    scores = hidden @ model.directions.T + model.prior
    towards = np.array([_towards(model, *each) for each in zip(scores, places, strict=True)])
    row = np.repeat(np.arange(vectors.shape[0]), np.diff(vectors.indptr))
    pulls: Floats = vectors.data * _products(weights, local, towards, row)
    return pulls


def _towards(model: Model, scores: Floats, places: Ints) -> Floats:
    """Return the way from where the other codes lie, by their shares, to a code or several.

    Not from where all codes lie: next to a share of one, nothing would be left but rounding.
    """
    own = np.zeros(len(scores), np.bool_)
    own[places] = True
    way: Floats = _centre(model, scores, own) - _centre(model, scores, ~own)
    return way


def _centre(model: Model, scores: Floats, some: Bools) -> Floats:
    if not some.any():
        return np.zeros(model.directions.shape[1], np.float32)
    centre: Floats = softmax(scores[None, some])[0] @ model.directions[some]
    return centre


def _products(left: Floats, rows: Ints, right: Floats, others: Ints) -> Floats:
    """Return the dot products of some rows with some others, a text's worth at a time."""
    ends = np.flatnonzero(np.diff(others)) + 1
    parts_ = zip(np.split(rows, ends), np.split(others, ends), strict=True)
    some = [left[part] @ right[other[0]] for part, other in parts_ if len(part)]
    return np.concatenate([np.empty(0, np.float32), *some])
