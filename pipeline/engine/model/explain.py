"""Finds the words of a text that added evidence for the code that a model gave it.

The network's score of a code is linear in the features of a text. The contribution of a feature to
one code, relative to its average contribution to the others weighted by their shares, is therefore
exact. The judgement of the best codes is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from pipeline.engine.model.arrays import Bools, Floats, Ints
from pipeline.engine.model.encoder import AT_ONCE
from pipeline.engine.model.features import count, parts, tokens
from pipeline.engine.model.products import softmax
from pipeline.engine.model.reading import reading
from pipeline.engine.model.scorer import Blend, Scorer, Scores
from pipeline.engine.model.sparse_rows import SparseRows
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
        found += _of(scores, *some)
    return found


def _of(scores: Scores, texts: Sequence[str], places: Sequence[Ints]) -> list[Reasons]:
    if isinstance(scores, Blend):
        return _of_blend(scores, texts, places)
    if not isinstance(scores, Scorer):
        return [()] * len(texts)
    vectors = scores.encoder.vocabulary.vectors(count(texts))
    features = np.split(scores.encoder.vocabulary.features[vectors.columns], vectors.ends[1:-1])
    pulls = _pulls(scores, vectors, places)
    return [
        strongest(text, parts(text), some, pull, tokens)
        for text, some, pull in zip(texts, features, pulls, strict=True)
    ]


def _of_blend(blend: Blend, texts: Sequence[str], places: Sequence[Ints]) -> list[Reasons]:
    """Explain each text by the model that adds more to its code, or else by the other one."""
    own = [each[each < len(blend.own.codes)] for each in places]
    other = [np.flatnonzero(np.isin(blend.places, each)) for each in places]
    from_own, from_other, _ = blend.parts(reading(tuple(texts)))
    found = []
    for row, by_own, by_other in zip(
        range(len(texts)),
        _of(blend.own, texts, own),
        _of(blend.other, texts, other),
        strict=True,
    ):
        by_more = from_own[row, own[row]].sum() >= from_other[row, other[row]].sum()
        found.append(by_own or by_other if by_more else by_other or by_own)
    return found


def _pulls(scorer: Scorer, vectors: SparseRows, places: Sequence[Ints]) -> Iterator[Floats]:
    """Yield how much evidence each feature of a text adds for its code, for each text."""
    weights = scorer.encoder.weights
    scores = scorer.directions(weights.sums(vectors)) + scorer.prior
    for own, place, (start, end) in zip(scores, places, pairwise(vectors.ends), strict=True):
        way = _towards(scorer, own, place)
        yield vectors.values[start:end] * (weights.rows(vectors.columns[start:end]) @ way)


def _towards(scorer: Scorer, scores: Floats, places: Ints) -> Floats:
    """Return the vector from the mean of the other codes, weighted by share, to the given codes.

    The mean excludes the given codes: if their share were close to 1, the difference would
    otherwise be only rounding error.
    """
    own = np.zeros(len(scores), np.bool_)
    own[places] = True
    if not own.any():
        return np.zeros(scorer.directions.width, np.float32)
    way: Floats = _centre(scorer, scores, own) - _centre(scorer, scores, ~own)
    return way


def _centre(scorer: Scorer, scores: Floats, some: Bools) -> Floats:
    """Return the mean of the directions of some codes, weighted by their shares."""
    if not some.any():
        return np.zeros(scorer.directions.width, np.float32)
    shares = softmax(scores[None, some])[0]
    if 2 * len(shares) < len(scores):
        return scorer.directions.combined(shares, some)
    every = np.zeros(len(scores), np.float32)
    every[some] = shares
    return scorer.directions.combined(every)  # without a copy of nearly all directions
