"""Turns texts into hashed counts of words, word pairs and character n-grams."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple
from zlib import crc32

import numpy as np

from pipeline.engine.evidence import STOCK_NUMBER
from pipeline.engine.model.arrays import Ints
from pipeline.engine.model.sparse_rows import SparseRows, summed
from pipeline.engine.text.attribution import Parts
from pipeline.engine.text.cleaning import cleaned
from pipeline.engine.text.negation import clauses

__all__ = ["BITS", "BLOCKS", "Counts", "count", "named", "parts", "tokens"]

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

SPELLINGS_KEPT = 1 << 15
"""Tokens whose features are cached: about 9 MB, or 21 MB if all of them have 40 letters.

Of the lookups in 32,000 tenders in all languages, 65 % hit; without a limit, 67 % would."""

TOKEN = re.compile(STOCK_NUMBER.pattern + r"|[^\W\d_]{2,40}|(?<!\d)\d{1,4}(?!\d)")
"""NATO stock numbers; words; numbers of up to four digits."""


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
    vocabulary: dict[str, int] = {}
    places = [[vocabulary.setdefault(t, len(vocabulary)) for t in tokens(text)] for text in texts]
    ends = np.cumsum([0, *map(len, places)])
    ids = np.fromiter((place for line in places for place in line), np.int64, ends[-1])
    row = np.repeat(np.arange(len(texts)), np.diff(ends))
    weights = HALF_AT_TOKEN / (HALF_AT_TOKEN + np.arange(len(ids)) - ends[row])

    # Compute the features of each distinct token only once.
    spellings = [_spelling(token) for token in vocabulary]
    within = row[1:] == row[:-1]
    pairs = _pairs(vocabulary, ids[:-1][within], ids[1:][within])
    columns = np.concatenate([_joined(spellings), pairs])
    present, local = np.unique(columns, return_inverse=True)
    inner = len(columns) - len(pairs)
    spelling_ends = np.cumsum([0, *map(_size, spellings)])
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
    hashes = np.array([crc32(token.encode()) for token in vocabulary], np.uint64)
    mixed = (hashes[left] * np.uint64(0x9E3779B1)) ^ (
        hashes[right] * np.uint64(0x85EBCA77) + np.uint64(0x1234567)
    )
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    features = (mixed >> np.uint64(40)) % np.uint64(1 << BITS) + np.uint64(1 << BITS)
    found: Ints = features.astype(np.uint32)
    return found


@lru_cache(maxsize=SPELLINGS_KEPT)
def _spelling(token: str) -> bytes:
    """Return a token's features: the token and, for a word, its n-grams with marked boundaries.

    They are 32-bit numbers in bytes, which take half the memory of an array.
    """
    if len(token) > 4 and token[0].isdigit():
        return array("I", [_feature(f"nsn{token[:4]}"), _feature(f"nsg{token[:2]}")]).tobytes()
    features = [_feature(f"={token}")]
    if not token[0].isdigit() and not token.startswith(EXCLUDED):
        marked = f"<{token}>"
        features += [
            _feature(marked[start : start + length], 2)
            for length in GRAM_LENGTHS
            for start in range(len(marked) - length + 1)
        ]
    return array("I", features).tobytes()


def _joined(spellings: Sequence[bytes]) -> Ints:
    return np.frombuffer(b"".join(spellings), np.uint32)


def _size(spelling: bytes) -> int:
    return len(spelling) // np.dtype(np.uint32).itemsize


def named(names: Sequence[str]) -> Ints:
    """Return the features of words and of parts of words; see `pipeline.engine.evidence`."""
    return np.array([_feature(name, 0 if name[0] == "=" else 2) for name in names], np.uint32)


def _feature(name: str, block: int = 0) -> int:
    return crc32(name.encode()) % (1 << BITS) + (block << BITS)


def parts(text: str) -> Parts:
    """Return the features that `count` counts and their tokens; a pair's weight is split in two."""
    found = tokens(text)
    places = np.arange(len(found))
    weights = (HALF_AT_TOKEN / (HALF_AT_TOKEN + places)).astype(np.float32)
    spellings = [_spelling(token) for token in found]
    own = np.repeat(places, [*map(_size, spellings)])
    pairs = _pairs(found, places[:-1], places[1:])
    owners = np.concatenate([own, places[:-1], places[1:]])
    halves = np.tile(weights[1:] / 2, 2)
    features = np.concatenate([_joined(spellings), pairs, pairs])
    return Parts(found, features, owners, np.concatenate([weights[own], halves]))
