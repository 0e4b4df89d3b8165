"""Turns texts and titles into sparse vectors of the words and character n-grams in them."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple
from zlib import crc32

import numpy as np
from scipy import sparse

from pipeline.engine.text.attribution import Parts
from pipeline.engine.text.cleaning import cleaned, meaning, readable
from pipeline.engine.text.ngrams import gram_hashes, word_hashes
from pipeline.engine.text.words import split_words

__all__ = ["FEATURES", "GRAM_LENGTHS", "HALF_AT_WORD", "Counted", "counted", "parts", "term_counts"]

Columns = np.ndarray[tuple[int], np.dtype[np.int32]]

FEATURES = 1 << 20
"""Features are hashed into this many columns, so that no vocabulary has to be kept."""

GRAM_LENGTHS = (4, 5)

HALF_AT_WORD = 20
"""The position of the word that counts half as much as the first."""

LIGHTER = 0.25
"""The weight of a word that does not say what is bought; see `buying_words`."""

WORDS_KEPT = 1 << 15
"""Words whose columns are cached: about 10 MB, and 18 MB if all of them have 40 letters."""


def term_counts(texts: Sequence[str], lighter: Container[str] = ()) -> sparse.csr_matrix:
    """Count the features of cleaned texts; earlier words have more weight than later ones.

    The weight of lighter words is multiplied by `LIGHTER`.

    Returns:
        One row a text, `FEATURES` columns, float32.
    """
    vocabulary: dict[str, int] = {}
    columns: list[int] = []
    weights: list[float] = []
    ends = [0]
    for text in texts:
        for place, word in enumerate(_wanted_words(text)):
            columns.append(vocabulary.setdefault(word, len(vocabulary)))
            weight = HALF_AT_WORD / (HALF_AT_WORD + place)
            weights.append(weight * LIGHTER if word in lighter else weight)
        ends.append(len(columns))
    shape = (len(texts), len(vocabulary))
    by_word = sparse.csr_matrix((np.array(weights, np.float32), columns, ends), shape)
    # Each distinct word is cut into n-grams once, however often it occurs.
    # A product as wide as all features would cost more for one text than the rest together.
    features, present = _word_features(list(vocabulary))
    counts = by_word @ features
    columns = present[counts.indices]
    return sparse.csr_matrix((counts.data, columns, counts.indptr), (len(texts), FEATURES))


def _wanted_words(text: str) -> list[str]:
    return split_words(cleaned(text))


def _word_features(vocabulary: Sequence[str]) -> tuple[sparse.csr_matrix, Columns]:
    """Return (vocabulary x present features, which features those are)."""
    features = [_features(word) for word in vocabulary]
    ends = np.cumsum([0, *map(len, features)])
    columns = np.concatenate([np.empty(0, np.int32), *features])
    present, local = np.unique(columns, return_inverse=True)
    ones = np.ones(len(columns), np.float32)
    return sparse.csr_matrix((ones, local, ends), (len(vocabulary), len(present))), present


@lru_cache(maxsize=WORDS_KEPT)
def _features(word: str) -> Columns:
    """Return the columns of a word: its n-grams with its borders marked, and itself."""
    marked = f"<{word}>"
    grams = [
        marked[start : start + length]
        for length in GRAM_LENGTHS
        for start in range(len(marked) - length + 1)
    ]
    hashes = [crc32(gram.encode()) % FEATURES for gram in [*grams, f"={word}"]]
    return np.array(hashes, np.int32)


def parts(text: str, lighter: Container[str] = ()) -> Parts:
    """Return the words of a text with the features that `term_counts` counts for each."""
    found = _wanted_words(text)
    features = [_features(word) for word in found]
    weights = HALF_AT_WORD / (HALF_AT_WORD + np.arange(len(found)))
    weights *= [LIGHTER if word in lighter else 1.0 for word in found]
    owners = np.repeat(np.arange(len(found)), [len(own) for own in features])
    return Parts(found, np.concatenate([np.empty(0, np.int32), *features]), owners, weights[owners])


class Counted(NamedTuple):
    """The words and features of titles.

    The product of the matrices is what `features.term_counts` returns for the titles.

    Attributes:
        by_word: titles x words.
        features: words x features.
        words: all distinct words, also those that do not say what is bought and are not counted.
    """

    by_word: sparse.csr_matrix
    features: sparse.csr_matrix
    words: list[str]


def counted(titles: Iterable[str]) -> Counted:
    """Count the words of titles, and cut each distinct word into n-grams once."""
    vocabulary = defaultdict[str, int]()
    vocabulary.default_factory = vocabulary.__len__
    columns, ends = array("i"), array("i", [0])
    left_out: set[str] = set()
    for title in titles:
        whole = readable(title)
        wanted = meaning(whole)
        columns.extend(map(vocabulary.__getitem__, split_words(wanted)))
        ends.append(len(columns))
        if wanted != whole:
            left_out.update(split_words(whole))
    words = list(vocabulary)
    place = np.arange(len(columns)) - np.repeat(ends[:-1], np.diff(ends))
    weights = (HALF_AT_WORD / (HALF_AT_WORD + place)).astype(np.float32)
    by_word = sparse.csr_matrix((weights, columns, ends), (len(ends) - 1, len(words)))
    return Counted(by_word, _features_of(words), [*words, *left_out.difference(words)])


def _features_of(words: list[str]) -> sparse.csr_matrix:
    """Return words x features: the n-grams of each word, and the word itself."""
    grams, cut_from = gram_hashes(words, GRAM_LENGTHS)
    hashes = np.concatenate([grams, word_hashes(words)])
    owners = np.concatenate([cut_from, np.arange(len(words))])
    columns = (hashes % np.uint32(FEATURES))[np.argsort(owners, kind="stable")]
    ends = np.append(0, np.cumsum(np.bincount(owners, minlength=len(words))))
    ones = np.ones(len(columns), np.float32)
    return sparse.csr_matrix((ones, columns.astype(np.int32), ends), (len(words), FEATURES))
