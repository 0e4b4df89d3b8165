"""Turns texts into hashed counts of words, pairs and n-grams, and weighs those a model knows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from itertools import chain, repeat
from typing import TypeAlias
from zlib import crc32

import numpy as np
import numpy.typing as npt

from pipeline.engine.model.matrices import Bools, Floats, Ints, SparseRows, find, summed
from pipeline.engine.text.attribution import Parts
from pipeline.engine.text.cleaning import KEPT, WordPattern, clauses, cleaned

BITS = 22
"""Features of each kind are hashed into this many bits; no words are stored."""

BLOCKS = 3
"""Words, pairs of neighbours, character n-grams; the bits above `BITS` hold the kind."""

GRAM_LENGTHS = (3, 4, 5)

MAX_TOKENS = 250

HALF_AT_TOKEN = 20
"""The token at this index has half the weight of the first: notices name the purchase first."""

WEIGHTS = (HALF_AT_TOKEN / (HALF_AT_TOKEN + np.arange(MAX_TOKENS))).astype(np.float32)
"""The weight of the token at each index."""
_WEIGHTS: list[float] = WEIGHTS.tolist()  # Python adds up plain numbers faster

EXCLUDED = "except "
"""Prefix of excluded tokens: "bakeries (except retail)" must not share features with retail, so
excluded words have their own features. Their n-grams are not counted."""

STOCK_NUMBER = re.compile(r"\d(?<!\d\d)\d{3}-?\d{2}-?\d{3}-?\d{4}(?!\d)")
"""NATO stock numbers. They begin with the supply class, so they say what is bought."""

TOKEN = WordPattern(rf"[^\W\d_]{{2,40}}|{STOCK_NUMBER.pattern}|(?<!\d)\d{{1,4}}(?!\d)")
"""Words; NATO stock numbers; numbers of up to four digits."""


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """What some texts contain, token by token.

    A token has two halves: its word (an even number) and its n-grams (the next one).

    Attributes:
        tokens: texts x halves of distinct tokens, in the order of a text: the sum of the weights of
            a token, for both halves.
        pairs: texts x features: the sum of the weights of each pair of neighbours.
        spelt: halves of tokens x features: 1 for each feature.
    """

    tokens: SparseRows
    pairs: SparseRows
    spelt: SparseRows

    def __len__(self) -> int:
        """Return the number of texts."""
        return len(self.tokens)

    def select(self, texts: Ints) -> Counts:
        """Return the given texts, in the given order, and of the tokens only theirs."""
        tokens = self.tokens.select(texts)
        halves, columns = np.unique(tokens.columns, return_inverse=True)
        return Counts(
            replace(tokens, columns=columns),
            self.pairs.select(texts),
            self.spelt.select(halves),
        )

    def frequencies(self) -> tuple[Ints, Ints]:
        """Return (the features of the texts, ascending; how many texts have each)."""
        entries = self.spelt.select(self.tokens.columns)
        row = self.tokens.rows[entries.rows]
        spelt = summed(entries.values, row, entries.columns, len(self))
        return np.unique(np.concatenate([spelt.columns, self.pairs.columns]), return_counts=True)


def tokens(text: str) -> list[str]:
    """Return the words and short numbers that describe the purchase, without case and accents.

    A text with only short numbers has no tokens. Excluded words are marked; see `EXCLUDED`.
    """
    cut = [
        EXCLUDED + token if excluded else token
        for clause, excluded in clauses(cleaned(text))
        for token in TOKEN.findall(clause)
    ][:MAX_TOKENS]
    return cut if any(len(token) > 4 or not token.isdigit() for token in cut) else []


def count(texts: Sequence[str]) -> Counts:
    """Count the features of texts, giving earlier tokens more weight."""
    token_lists = [tokens(text) for text in texts]
    sums = [_weights(token_list) for token_list in token_lists]
    vocabulary = {token: number for number, token in enumerate(dict.fromkeys(chain(*token_lists)))}
    ids = np.fromiter(map(vocabulary.__getitem__, chain(*token_lists)), np.intp)
    distinct_ids = np.fromiter(map(vocabulary.__getitem__, chain(*sums)), np.intp)
    weights = np.fromiter(chain.from_iterable(map(dict.values, sums)), np.float32)
    row = np.repeat(np.arange(len(texts)), [*map(len, token_lists)])
    positions = (np.arange(len(token_list)) for token_list in token_lists)
    position = np.concatenate([np.empty(0, np.intp), *positions])

    # Compute the features of each distinct token only once.
    spellings, owners = _spellings(list(vocabulary))
    within = row[1:] == row[:-1]
    neighbours = _pairs(vocabulary, ids[:-1][within], ids[1:][within])
    halves = 2 * owners + (spellings >= 2 << BITS)
    return Counts(
        SparseRows(
            np.repeat(weights, 2),
            (2 * distinct_ids[:, None] + np.arange(2)).reshape(-1),
            2 * np.cumsum([0, *map(len, sums)]),
        ),
        summed(WEIGHTS[position[1:][within]], row[1:][within], neighbours, len(texts)),
        SparseRows(
            np.ones(len(spellings), np.float32),
            spellings,
            np.searchsorted(halves, np.arange(2 * len(vocabulary) + 1)),
        ),
    )


def _weights(token_list: Sequence[str]) -> dict[str, float]:
    """Return the sum of the weights of each distinct token, in the order of the text."""
    sums: dict[str, float] = {}
    for token, weight in zip(token_list, _WEIGHTS, strict=False):
        sums[token] = sums.get(token, 0.0) + weight
    return sums


def _pairs(vocabulary: Iterable[str], left: Ints, right: Ints) -> Ints:
    """Return the features of neighbouring tokens, given by their indices in the vocabulary."""
    hashes = np.fromiter(map(crc32, map(str.encode, vocabulary)), np.uint64)
    mixed = (hashes[left] * np.uint64(0x9E3779B1)) ^ (
        hashes[right] * np.uint64(0x85EBCA77) + np.uint64(0x1234567)
    )
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    features = (mixed >> np.uint64(40)) % np.uint64(1 << BITS) + np.uint64(1 << BITS)
    pairs: Ints = features.astype(np.uint32)
    return pairs


def _spellings(distinct: Sequence[str]) -> tuple[Ints, Ints]:
    """Return the features of tokens, and the index of each one's token, ascending.

    A token has a feature for itself and, if it is a word, for its n-grams with marked boundaries.
    A stock number has one for its supply class and one for its group instead.
    """
    numbers = [number for number, token in enumerate(distinct) if token[0].isdigit()]
    stock = [number for number in numbers if len(distinct[number]) > 4]
    of_words = word_hashes(distinct)
    of_words[stock] = [crc32(f"nsn{distinct[number][:4]}".encode()) for number in stock]
    groups = [crc32(f"nsg{distinct[number][:2]}".encode()) for number in stock]
    whole = {
        *numbers,
        *(number for number, token in enumerate(distinct) if token.startswith(EXCLUDED)),
    }
    cut = [number for number in range(len(distinct)) if number not in whole]
    grams, cut_from = gram_hashes([distinct[number] for number in cut], GRAM_LENGTHS)
    words = hashed_features(np.concatenate([of_words, np.array(groups, np.uint32)]), 0)
    owners = np.concatenate([np.arange(len(distinct)), stock, np.array(cut)[cut_from]]).astype(
        np.intp
    )
    order = np.argsort(owners, kind="stable")
    return np.concatenate([words, hashed_features(grams, 2)])[order], owners[order]


def hashed_features(hashes: Hashes, block: int) -> Ints:
    """Return the features with the given hashes in a block: 0 for words, 2 for n-grams."""
    features: Ints = hashes % np.uint32(1 << BITS) + np.uint32(block << BITS)
    return features


@lru_cache(maxsize=KEPT)
def parts(text: str) -> Parts:
    """Return the features that `count` counts and their tokens; a pair's weight is split in two.

    The logarithm of a token's weights is shared out among its occurrences.

    They are cached for the systems that explain the same texts in turn.
    """
    token_list = tokens(text)
    numbers = np.arange(len(token_list))
    weights = WEIGHTS[: len(token_list)]
    sums = _weights(token_list)
    whole = np.array([sums[token] for token in token_list], np.float32)
    shares = np.log1p(whole) / np.maximum(whole, WEIGHTS[-1]) * weights
    spellings, of_token = _spellings(token_list)
    pairs = _pairs(token_list, numbers[:-1], numbers[1:])
    owners = np.concatenate([of_token, numbers[:-1], numbers[1:]])
    halves = np.tile(weights[1:] / 2, 2)
    features = np.concatenate([spellings, pairs, pairs])
    return Parts(token_list, features, owners, np.concatenate([shares[of_token], halves]))


BLOCK_WEIGHTS = np.array([1.0, 0.7, 0.7])
"""Lengths of a text's word, n-gram and pair blocks before the whole vector is normalised."""


@dataclass(frozen=True, eq=False)
class Composition:
    """Texts as weighted sums of the vectors of their tokens' halves and of their pairs.

    The vector of a half, the sum of its features, is the same in every text.

    Attributes:
        tokens: texts x halves of tokens: the weight of each.
        pairs: texts x known features: the weights of the pairs of neighbours.
        spelt: halves of tokens x known features.
        known: the known share of each text's features.
    """

    tokens: SparseRows
    pairs: SparseRows
    spelt: SparseRows
    known: Floats

    @cached_property
    def words(self) -> SparseRows:
        """Texts x known features: the words and the pairs of neighbours, as in `vectors`."""
        return _added(self.tokens.where(self.tokens.columns % 2 == 0), self.pairs, self.spelt)


@dataclass(frozen=True)
class Vocabulary:
    """The features that a model knows.

    Attributes:
        features: hashed features, ascending.
        rarity: the weight of each feature; the fewer texts have it, the higher.
    """

    features: Ints
    rarity: Floats

    def composed(self, counts: Counts) -> Composition:
        """Return how texts are composed of the features that are known.

        Each block is scaled as if the vectors of its tokens or pairs were orthogonal: n-grams that
        several tokens share hardly change its length. So no text needs all its features added up.
        """
        known_pairs = self._known(counts.pairs)
        spelt = self._weighed(self._known(counts.spelt))
        pairs = self._weighed(_logarithms(known_pairs))
        tokens = _logarithms(counts.tokens)
        row, half = tokens.rows, tokens.columns % 2
        squares = tokens.values**2 * spelt.sums(spelt.values**2)[tokens.columns]
        lengths = np.column_stack(
            [
                _sums(squares, 2 * row + half, 2 * len(counts)).reshape(-1, 2),
                pairs.sums(pairs.values**2),
            ]
        )
        scales = _scales(np.sqrt(lengths))
        return Composition(
            tokens.scaled(scales[row, half]),
            pairs.scaled(scales[pairs.rows, 2]),
            spelt,
            _amounts(counts.tokens, spelt.lengths, known_pairs)
            / np.maximum(_amounts(counts.tokens, counts.spelt.lengths, counts.pairs), 1e-9),
        )

    def vectors(self, counts: Counts) -> SparseRows:
        """Return texts x known features: what `composed` describes, added up by feature."""
        composition = self.composed(counts)
        return _added(composition.tokens, composition.pairs, composition.spelt)

    def _known(self, counted: SparseRows) -> SparseRows:
        """Return rows x known features, given rows x hashed features."""
        is_known, indices = find(self.features, counted.columns)
        return replace(counted.where(is_known), columns=indices[is_known])

    def _weighed(self, counted: SparseRows) -> SparseRows:
        """Return rows x known features: the values times the rarity of the features."""
        return counted.scaled(self.rarity[counted.columns].astype(np.float32))

    def find_words(self, words: Sequence[str]) -> tuple[Bools, Ints]:
        """Return (which words are known; the index of the feature of each that is)."""
        return find(self.features, hashed_features(word_hashes(words), 0))

    def knows_grams(self, words: Sequence[str], length: int) -> tuple[Bools, Places]:
        """Return (which n-grams of a length are known; the index of the word of each)."""
        grams, owners = gram_hashes(words, [length])
        return find(self.features, hashed_features(grams, 2))[0], owners


def learn(parts: Sequence[Counts], at_least: int, most: int) -> Vocabulary:
    """Return the vocabulary of the most frequent features.

    Args:
        parts: the feature counts of the texts.
        at_least: the minimum number of texts with a feature.
        most: the maximum number of features to keep.
    """
    texts = sum(map(len, parts))
    seen = [part.frequencies() for part in parts]
    found = np.concatenate([found for found, _ in seen])
    features, indices = np.unique(found, return_inverse=True)
    times = _sums(np.concatenate([often for _, often in seen]), indices, len(features))
    often = np.flatnonzero(times >= at_least)
    if len(often) > most:
        often = np.sort(often[np.argsort(-times[often], kind="stable")[:most]])
    rarity = np.log1p(texts / (times[often] + 0.5))
    return Vocabulary(features[often].astype(np.uint32), rarity.astype(np.float32))


def _added(tokens: SparseRows, pairs: SparseRows, spelt: SparseRows) -> SparseRows:
    """Return texts x features: the features of tokens' halves, and of pairs, added up."""
    entries = spelt.select(tokens.columns)
    token = entries.rows
    return summed(
        np.concatenate([tokens.values[token] * entries.values, pairs.values]),
        np.concatenate([tokens.rows[token], pairs.rows]),
        np.concatenate([entries.columns, pairs.columns]),
        len(tokens),
    )


def _logarithms(rows: SparseRows) -> SparseRows:
    return SparseRows(np.log1p(rows.values), rows.columns, rows.ends)


def _scales(lengths: Floats) -> Floats:
    """Return texts x blocks: the factors with which the text's vector has unit length."""
    weights = BLOCK_WEIGHTS * (lengths > 0)
    whole = np.sqrt((weights**2).sum(axis=1, keepdims=True))
    scales: Floats = weights / np.maximum(lengths * whole, 1e-9)
    return scales


def _amounts(tokens: SparseRows, spelt: Ints, pairs: SparseRows) -> Floats:
    """Return how many of some features each text has: those of its tokens' halves, and pairs."""
    return tokens.sums(tokens.values * spelt[tokens.columns]) + pairs.sums(pairs.values)


def _sums(values: Floats | Bools | Ints, group: Ints, groups: int) -> Floats:
    sums: Floats = np.bincount(group, values, groups).astype(np.float64)
    return sums


# CRC-32 is linear: the hash of a string is the exclusive or of a value for each byte, which depends
# on the byte and on how many bytes follow, and of a value for the length. So all n-grams of one
# length take a few operations on whole arrays.
Hashes: TypeAlias = npt.NDArray[np.uint32]
Places: TypeAlias = npt.NDArray[np.intp]

MARK = crc32(b"=")


def word_hashes(words: Sequence[str]) -> Hashes:
    """Return the hash of each word with "=" before it."""
    return np.fromiter(map(crc32, map(str.encode, words), repeat(MARK)), np.uint32, len(words))


def gram_hashes(words: Sequence[str], lengths: Sequence[int]) -> tuple[Hashes, Places]:
    """Return the hashes of the n-grams of words, which are put between "<" and ">" first.

    Args:
        words: the words.
        lengths: how many characters the n-grams have.

    Returns:
        The hashes, those of each length together, and the index in ``words`` of the word of each.
    """
    text = "".join([f"<{word}>" for word in words])
    sizes = np.fromiter(map(len, words), np.intp, len(words)) + 2
    owners = np.repeat(np.arange(len(words)), sizes)
    characters_left = np.repeat(np.cumsum(sizes), sizes) - np.arange(len(text))
    grams = _Grams(text)
    begins = [np.flatnonzero(characters_left >= length) for length in lengths]
    hashes = [grams.hashes(length)[starts] for length, starts in zip(lengths, begins, strict=True)]
    return np.concatenate(hashes), owners[np.concatenate(begins)]


class _Grams:
    """The n-grams that begin at each character of a text."""

    def __init__(self, text: str) -> None:
        data = np.frombuffer(text.encode(), np.uint8)
        self._size = len(data)
        self._values = cache(lambda following: _values(following).take(data))
        starts = np.flatnonzero(data & 0xC0 != 0x80)  # no inner bytes of UTF-8
        self._starts = np.append(starts, len(data))

    def hashes(self, length: int) -> Hashes:
        """Return the hash of each n-gram; an arbitrary one where the text ends before it."""
        first = self._starts[:-length]
        sizes = self._starts[length:] - first
        hashes = np.zeros(len(self._starts) - 1, np.uint32)
        hashes[: len(first)] = self._of_bytes(length).take(first, mode="clip")
        for size in np.flatnonzero(np.bincount(sizes)[length + 1 :]) + length + 1:
            longer = np.flatnonzero(sizes == size)  # in other scripts than Latin
            hashes[longer] = self._at(first[longer], int(size))
        return hashes

    def _of_bytes(self, size: int) -> Hashes:
        """Return the hash of so many bytes from each byte on."""
        hashes = np.full(max(0, self._size - size + 1), crc32(bytes(size)), np.uint32)
        for at in range(size):
            hashes ^= self._values(size - 1 - at)[at : at + len(hashes)]
        return hashes

    def _at(self, starts: Places, size: int) -> Hashes:
        hashes = np.full(len(starts), crc32(bytes(size)), np.uint32)
        for at in range(size):
            hashes ^= self._values(size - 1 - at)[starts + at]
        return hashes


@cache
def _values(following: int) -> Hashes:
    """Return the value of each byte if so many bytes follow it."""
    zeros = bytes(following)
    every = (crc32(bytes([byte]) + zeros) for byte in range(256))
    return np.fromiter(every, np.uint32, 256) ^ np.uint32(crc32(bytes(1) + zeros))
