"""Finds the words of a text that added evidence for the code that a model gave it.

The network's score of a code is linear in the features of a text. The contribution of a feature to
one code, relative to its average contribution to the others weighted by their shares, is therefore
exact. The memory, which contributes less to an answer, is left out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from pipeline.engine.model.arrays import Bools, Floats, Ints
from pipeline.engine.model.encoder import AT_ONCE
from pipeline.engine.model.features import count, parts, tokens
from pipeline.engine.model.products import softmax
from pipeline.engine.model.scorer import Blend, Scorer, Scores
from pipeline.engine.text.attribution import Reasons, strongest

__all__ = ["explain"]


def explain(scores: Scores, texts: Sequence[str], places: Sequence[Ints]) -> list[Reasons]:
    """Return the strongest words for the code of each text; none if the model knows no word of it.

    Args:
        scores: the scorer that gave the codes.
        texts: the texts that were coded.
        places: for each text, the index of its code among the codes of the scorer, or the indices
            of several codes that were merged into one answer.
    """
    found: list[Reasons] = []
    for at in range(0, len(texts), AT_ONCE):
        some = texts[at : at + AT_ONCE], places[at : at + AT_ONCE]
        found += _of_blend(scores, *some) if isinstance(scores, Blend) else _of(scores, *some)
    return found


def _of_blend(blend: Blend, texts: Sequence[str], places: Sequence[Ints]) -> list[Reasons]:
    """Explain each text by the history's model; fall back to the other if that gives no words."""
    own = [each[each < len(blend.own.codes)] for each in places]
    other = [np.flatnonzero(np.isin(blend.places, each)) for each in places]
    answers = zip(_of(blend.own, texts, own), _of(blend.other, texts, other), strict=True)
    return [by_own or by_other for by_own, by_other in answers]


def _of(scores: Scores, texts: Sequence[str], places: Sequence[Ints]) -> list[Reasons]:
    if not isinstance(scores, Scorer):
        return [()] * len(texts)
    vectors, used, _ = scores.encoder.compact(count(texts))
    vectors.sort_indices()
    pulls = _pulls(scores, vectors, scores.encoder.weights.rows(used), places)
    features = scores.encoder.vocabulary.features[used[vectors.indices]]
    ends = zip(vectors.indptr[:-1], vectors.indptr[1:], strict=True)
    return [
        strongest(text, parts(text), features[start:end], pulls[start:end], tokens)
        for text, (start, end) in zip(texts, ends, strict=True)
    ]


def _pulls(
    scorer: Scorer, vectors: sparse.csr_matrix, weights: Floats, places: Sequence[Ints]
) -> Floats:
    """Return how much evidence each feature adds for its text's code, in the order of the data."""
    scores = vectors @ weights @ scorer.directions.T + scorer.prior
    towards = np.array([_towards(scorer, *each) for each in zip(scores, places, strict=True)])
    row = np.repeat(np.arange(vectors.shape[0]), np.diff(vectors.indptr))
    pulls: Floats = vectors.data * _products(weights, vectors.indices, towards, row)
    return pulls


def _towards(scorer: Scorer, scores: Floats, places: Ints) -> Floats:
    """Return the vector from the mean of the other codes, weighted by share, to the given codes.

    The mean excludes the given codes: if their share were close to 1, the difference would
    otherwise be only rounding error.
    """
    own = np.zeros(len(scores), np.bool_)
    own[places] = True
    if not own.any():
        return np.zeros(scorer.directions.shape[1], np.float32)
    way: Floats = _centre(scorer, scores, own) - _centre(scorer, scores, ~own)
    return way


def _centre(scorer: Scorer, scores: Floats, some: Bools) -> Floats:
    if not some.any():
        return np.zeros(scorer.directions.shape[1], np.float32)
    centre: Floats = softmax(scores[None, some])[0] @ scorer.directions[some]
    return centre


def _products(left: Floats, rows: Ints, right: Floats, others: Ints) -> Floats:
    """Return the dot products of paired rows of two matrices, one text at a time."""
    ends = np.flatnonzero(np.diff(others)) + 1
    parts_ = zip(np.split(rows, ends), np.split(others, ends), strict=True)
    some = [left[part] @ right[other[0]] for part, other in parts_ if len(part)]
    return np.concatenate([np.empty(0, np.float32), *some])
