"""Builds the word index of a system from its examples, titles and phrases."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from pipeline.engine.model.arrays import Bools, Floats, Ints, Texts
from pipeline.engine.model.features import BITS
from pipeline.engine.model.vocabulary import Vocabulary
from pipeline.engine.model.word_index import LEVELS, MOST_CODES, SMOOTHING, InvertedIndex, WordIndex
from pipeline.engine.training.examples import Examples

__all__ = ["build"]

MOST_ENTRIES = 100_000
"""The most entries of the examples' index; those of the most examples are kept.

CPV has 1.3 million, most of them of one example. With 194,000, those of several, the reranker finds
as many codes of held-out texts: .352 first instead of .351, and .684 among ten instead of .686."""


def build(vocabulary: Vocabulary, codes: Texts, taught: Examples, titles: Examples) -> WordIndex:
    """Return the word index of one system.

    The codes that the model can predict are in ascending order.
    """
    words, pairs = (int(np.searchsorted(vocabulary.features, n << BITS)) for n in (1, 2))
    labels = np.searchsorted(codes, taught.codes)
    texts = np.bincount(labels, minlength=len(codes)).astype(np.float32)
    weights = taught.vectors(vocabulary, pairs)
    return WordIndex(
        _examples(weights, labels, len(codes)),
        _titles(vocabulary, np.searchsorted(codes, titles.codes), titles, words),
        texts,
    )


def _examples(weights: sparse.csr_matrix, labels: Ints, codes: int) -> InvertedIndex:
    """Index the words of labelled texts."""
    texts, words = weights.shape
    ones = np.ones(texts, np.float32)
    by_code = sparse.csr_matrix((ones, (labels, np.arange(texts))), (codes, texts))
    seen = sparse.csr_matrix(by_code @ weights.sign())
    mean = sparse.csr_matrix(by_code @ weights)
    for each in (seen, mean):  # now their entries stand in the same order
        each.sort_indices()
    count, lengths = seen.data, np.sqrt(np.asarray(mean.multiply(mean).sum(axis=1)).ravel())
    code = np.repeat(np.arange(codes), np.diff(seen.indptr))
    usual = np.bincount(seen.indices, count, words) / max(1, texts)
    ratio = np.log1p(count / (SMOOTHING * usual[seen.indices]))
    cosine = mean.data / np.maximum(lengths[code], 1e-9)
    few = np.flatnonzero(_of_few_codes(seen.indices, words))
    kept = few[np.lexsort((-ratio[few], -count[few]))[:MOST_ENTRIES]]
    values = np.column_stack([ratio, cosine])
    return _packed(seen.indices[kept], code[kept], values[kept], words)


def _titles(vocabulary: Vocabulary, labels: Ints, titles: Examples, words: int) -> InvertedIndex:
    """Index the words of titles by the largest share that each has of one of a code's titles."""
    matrix = titles.vectors(vocabulary, words).tocoo()
    rarity = vocabulary.rarity[:words].astype(np.float64)[matrix.col]
    whole = np.bincount(matrix.row, rarity, len(titles))
    share, code, word = rarity / whole[matrix.row], labels[matrix.row], matrix.col
    order = np.lexsort((-share, word, code))
    first = order[np.flatnonzero(np.diff(code[order] * words + word[order], prepend=-1))]
    share, code, word = share[first], code[first], word[first]
    kept = _of_few_codes(word, words)
    return _packed(word[kept], code[kept], share[kept, None], words)


def _of_few_codes(words: Ints, count: int) -> Bools:
    """Return which entries are of words with at most `MOST_CODES` codes."""
    few: Bools = np.bincount(words, minlength=count)[words] <= MOST_CODES
    return few


def _packed(word: Ints, code: Ints, values: Floats, words: int) -> InvertedIndex:
    """Return the entries by word, each value in one byte."""
    order = np.lexsort((code, word))
    scales = values.max(axis=0, initial=1e-9) / LEVELS
    return InvertedIndex(
        np.bincount(word, minlength=words).astype(np.uint8),
        code[order].astype(np.uint16 if code.max(initial=0) < 2**16 else np.uint32),
        np.maximum(np.rint(values[order] / scales), 1).astype(np.uint8),
        scales.astype(np.float32),
    )
