"""Turns texts into hashed counts of words, word pairs and character n-grams."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple
from zlib import crc32

import numpy as np

from pipeline.engine.evidence import STOCK_NUMBER
from pipeline.engine.model.arrays import Ints
from pipeline.engine.model.sparse_rows import SparseRows, distinct, summed
from pipeline.engine.text.attribution import Parts
from pipeline.engine.text.cleaning import KEPT, cleaned
from pipeline.engine.text.letters import Words
from pipeline.engine.text.negation import clauses
from pipeline.engine.text.ngrams import Hashes, gram_hashes, word_hashes

__all__ = ["BITS", "BLOCKS", "Counts", "count", "hashed_features", "parts", "tokens"]

BITS = 22
"""Features of each kind are hashed into this many bits; no words are stored."""

BLOCKS = 3
"""Words, pairs of neighbours, character n-grams; the bits above `BITS` hold the kind."""

GRAM_LENGTHS = (3, 4, 5)

MAX_TOKENS = 250

HALF_AT_TOKEN = 20
"""The token at this index has half the weight of the first: notices name the purchase first."""

EXCLUDED = "except "
"""Prefix of excluded tokens: "bakeries (except retail)" must not share features with retail, so
excluded words have their own features. Their n-grams are not counted."""

TOKEN = Words(rf"[^\W\d_]{{2,40}}|{STOCK_NUMBER.pattern}|(?<!\d)\d{{1,4}}(?!\d)")
"""Words; NATO stock numbers; numbers of up to four digits."""


class Counts(NamedTuple):
    """Feature counts of some texts.

    Attributes:
        rows: texts x features that occur in any of them.
        present: the hashes of those features, ascending.
    """

    rows: SparseRows
    present: Ints


def tokens(text: str) -> list[str]:
    """Return the words and short numbers that describe the purchase, without case and accents.

    A text with only short numbers has no tokens. Excluded words are marked; see `EXCLUDED`.
    """
    found = [
        EXCLUDED + token if excluded else token
        for clause, excluded in clauses(cleaned(text))
        for token in TOKEN.findall(clause)
    ][:MAX_TOKENS]
    return found if any(len(token) > 4 or not token.isdigit() for token in found) else []


def count(texts: Sequence[str]) -> Counts:
    """Count the features of texts, giving earlier tokens more weight."""
    found = [tokens(text) for text in texts]
    ends = np.cumsum([0, *map(len, found)])
    vocabulary = defaultdict[str, int]()
    vocabulary.default_factory = vocabulary.__len__
    numbered = map(vocabulary.__getitem__, chain.from_iterable(found))
    ids = np.fromiter(numbered, np.int64, ends[-1])
    vocabulary.default_factory = None  # else it refers to itself, and only the collector frees it
    row = np.repeat(np.arange(len(texts)), np.diff(ends))
    weights = HALF_AT_TOKEN / (HALF_AT_TOKEN + np.arange(len(ids)) - ends[row])

    # Compute the features of each distinct token only once.
    spellings, owners = _spellings(list(vocabulary))
    within = row[1:] == row[:-1]
    pairs = _pairs(vocabulary, ids[:-1][within], ids[1:][within])
    present, local = distinct(np.concatenate([spellings, pairs]))
    inner = len(spellings)
    spelling_ends = np.searchsorted(owners, np.arange(len(vocabulary) + 1))
    spelt = SparseRows(np.ones(inner, np.float32), local[:inner], spelling_ends).select(ids)
    token = spelt.rows
    counted = summed(
        np.concatenate([weights[token], weights[1:][within]]).astype(np.float32),
        np.concatenate([row[token], row[1:][within]]),
        np.concatenate([spelt.columns, local[inner:]]),
        len(texts),
    )
    return Counts(counted, present)


def _pairs(vocabulary: Iterable[str], left: Ints, right: Ints) -> Ints:
    """Return the features of neighbouring tokens, given by their indices in the vocabulary."""
    hashes = np.fromiter(map(crc32, map(str.encode, vocabulary)), np.uint64)
    mixed = (hashes[left] * np.uint64(0x9E3779B1)) ^ (
        hashes[right] * np.uint64(0x85EBCA77) + np.uint64(0x1234567)
    )
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    features = (mixed >> np.uint64(40)) % np.uint64(1 << BITS) + np.uint64(1 << BITS)
    found: Ints = features.astype(np.uint32)
    return found


def _spellings(found: Sequence[str]) -> tuple[Ints, Ints]:
    """Return the features of tokens, and the index of each one's token, ascending.

    A token has a feature for itself and, if it is a word, for its n-grams with marked boundaries.
    A stock number has one for its supply class and one for its group instead.
    """
    numbers = [place for place, token in enumerate(found) if token[0].isdigit()]
    stock = [place for place in numbers if len(found[place]) > 4]
    own = word_hashes(found)
    own[stock] = [crc32(f"nsn{found[place][:4]}".encode()) for place in stock]
    groups = [crc32(f"nsg{found[place][:2]}".encode()) for place in stock]
    whole = {*numbers, *(place for place, token in enumerate(found) if token.startswith(EXCLUDED))}
    cut = [place for place in range(len(found)) if place not in whole]
    grams, cut_from = gram_hashes([found[place] for place in cut], GRAM_LENGTHS)
    words = hashed_features(np.concatenate([own, np.array(groups, np.uint32)]), 0)
    owners = np.concatenate([np.arange(len(found)), stock, np.array(cut)[cut_from]]).astype(np.intp)
    order = np.argsort(owners, kind="stable")
    return np.concatenate([words, hashed_features(grams, 2)])[order], owners[order]


def hashed_features(hashes: Hashes, block: int) -> Ints:
    """Return the features with the given hashes in a block: 0 for words, 2 for n-grams."""
    found: Ints = hashes % np.uint32(1 << BITS) + np.uint32(block << BITS)
    return found


@lru_cache(maxsize=KEPT)
def parts(text: str) -> Parts:
    """Return the features that `count` counts and their tokens; a pair's weight is split in two.

    They are cached for the systems that explain the same texts in turn.
    """
    found = tokens(text)
    places = np.arange(len(found))
    weights = (HALF_AT_TOKEN / (HALF_AT_TOKEN + places)).astype(np.float32)
    spellings, own = _spellings(found)
    pairs = _pairs(found, places[:-1], places[1:])
    owners = np.concatenate([own, places[:-1], places[1:]])
    halves = np.tile(weights[1:] / 2, 2)
    features = np.concatenate([spellings, pairs, pairs])
    return Parts(found, features, owners, np.concatenate([weights[own], halves]))
