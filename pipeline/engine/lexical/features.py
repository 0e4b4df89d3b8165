"""Turns texts and titles into sparse vectors of the words and character n-grams in them."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from pipeline.engine.model.matrices import Ints
from pipeline.engine.text.attribution import Parts
from pipeline.engine.text.cleaning import cleaned, meaning, readable, split_words
from pipeline.engine.text.ngrams import gram_hashes, word_hashes

__all__ = ["FEATURES", "GRAM_LENGTHS", "HALF_AT_WORD", "Counted", "counted", "parts", "term_counts"]

FEATURES = 1 << 20
"""Features are hashed into this many columns, so that no vocabulary has to be kept."""

GRAM_LENGTHS = (4, 5)

HALF_AT_WORD = 20
"""The position of the word that counts half as much as the first."""

LIGHTER = 0.25
"""The weight of a word that does not say what is bought; see `buying_words`."""


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
    features, owners = _spellings(list(vocabulary))
    present, local = np.unique(features, return_inverse=True)
    counts = by_word @ _rows(local, owners, (len(vocabulary), len(present)))
    columns = present[counts.indices]
    return sparse.csr_matrix((counts.data, columns, counts.indptr), (len(texts), FEATURES))


def _wanted_words(text: str) -> list[str]:
    return split_words(cleaned(text))


def _spellings(words: Sequence[str]) -> tuple[Ints, Ints]:
    """Return the features of words, and the index of each one's word, ascending.

    They are the n-grams of a word with its borders marked, and the word itself.
    """
    grams, cut_from = gram_hashes(words, GRAM_LENGTHS)
    hashes = np.concatenate([grams, word_hashes(words)]) % np.uint32(FEATURES)
    owners = np.concatenate([cut_from, np.arange(len(words))])
    order = np.argsort(owners, kind="stable")
    return hashes[order].astype(np.int32), owners[order]


def _rows(columns: Ints, owners: Ints, shape: tuple[int, int]) -> sparse.csr_matrix:
    """Return a matrix of ones, from the columns of each row; the rows ascend."""
    ends = np.searchsorted(owners, np.arange(shape[0] + 1))
    return sparse.csr_matrix((np.ones(len(columns), np.float32), columns, ends), shape)


def parts(text: str, lighter: Container[str] = ()) -> Parts:
    """Return the words of a text with the features that `term_counts` counts for each."""
    found = _wanted_words(text)
    features, owners = _spellings(found)
    weights = HALF_AT_WORD / (HALF_AT_WORD + np.arange(len(found)))
    weights *= [LIGHTER if word in lighter else 1.0 for word in found]
    return Parts(found, features, owners, weights[owners])


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
    features = _rows(*_spellings(words), (len(words), FEATURES))
    return Counted(by_word, features, [*words, *left_out.difference(words)])
