"""Splits many titles into words and features at once, for an index."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy import sparse

from pipeline.engine.lexical.features import FEATURES, GRAM_LENGTHS, HALF_AT_WORD
from pipeline.engine.text.cleaning import meaning, readable
from pipeline.engine.text.ngrams import gram_hashes, word_hashes
from pipeline.engine.text.words import split_words

__all__ = ["Counted", "counted"]


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
    return Counted(by_word, _features(words), [*words, *left_out.difference(words)])


def _features(words: list[str]) -> sparse.csr_matrix:
    """Return words x features: the n-grams of each word, and the word itself."""
    grams, cut_from = gram_hashes(words, GRAM_LENGTHS)
    hashes = np.concatenate([grams, word_hashes(words)])
    owners = np.concatenate([cut_from, np.arange(len(words))])
    columns = (hashes % np.uint32(FEATURES))[np.argsort(owners, kind="stable")]
    ends = np.append(0, np.cumsum(np.bincount(owners, minlength=len(words))))
    ones = np.ones(len(columns), np.float32)
    return sparse.csr_matrix((ones, columns.astype(np.int32), ends), (len(words), FEATURES))
