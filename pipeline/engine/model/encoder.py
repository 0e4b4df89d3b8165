"""Turns texts into short dense vectors, and these into scores of the codes of one system."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, TypeAlias, TypeVar

import numpy as np

from pipeline.answers import System
from pipeline.engine.acts import acts_of_codes
from pipeline.engine.model.features import (
    Composition,
    Counts,
    Vocabulary,
    count,
)
from pipeline.engine.model.known_words import enough_known
from pipeline.engine.model.matrices import (
    TOGETHER,
    Bools,
    Floats,
    IntegerRows,
    Ints,
    SparseRows,
    Texts,
    highest,
    softmax,
    weighted_sums,
)
from pipeline.engine.text.cleaning import item_of

CENTRES = 256
"""Centroids per subvector: as many as one byte can index."""

ROUNDS = 10
SAMPLE = 30_000
"""How many rows the centroids are fitted to."""

QUANTISED_AT_ONCE = 256
"""Rows that are compared with the centroids at once, so that the products stay in the cache."""


@dataclass(frozen=True, slots=True)
class Codebook:
    """Product-quantised rows of weights.

    Attributes:
        places: rows x subvectors, uint8: the index of each subvector's centroid.
        lengths: the length of each row, float16.
        centres: subvectors x centroids x columns of a subvector, float32.
    """

    places: Ints
    lengths: Floats
    centres: Floats

    @property
    def width(self) -> int:
        """The number of columns of a row."""
        parts, _, columns = self.centres.shape
        return int(parts * columns)

    def rows(self, which: Ints) -> Floats:
        """Return the given rows as float32."""
        unit = self._decoder(len(which))(which)
        return unit * self.lengths[which].astype(np.float32)[:, None]

    def sums(self, texts: SparseRows) -> Floats:
        """Return the product of a sparse matrix and the rows: texts x columns, float32."""
        weights = texts.scaled(self.lengths[texts.columns].astype(np.float32))
        most = max(TOGETHER, int(texts.lengths.max(initial=0)))
        return weighted_sums(weights, self._decoder(most), self.width)

    def _decoder(self, most: int) -> Callable[[Ints], Floats]:
        """Return a function that decodes up to so many rows; each call overwrites the last one's.

        The rows are not scaled to their lengths.
        """
        parts, centres, columns = self.centres.shape
        offsets = (np.arange(parts) * centres).astype(np.min_scalar_type(parts * centres))
        # As single values, the columns of a centroid are copied at once.
        flat = np.ascontiguousarray(self.centres).reshape(-1).view(f"V{4 * columns}")
        rows_used = np.empty((most, parts), np.intp)
        decoded = np.empty((most, parts), flat.dtype)
        kept = np.asarray(self.places)

        def decode(which: Ints) -> Floats:
            here = rows_used[: len(which)], decoded[: len(which)]
            here[0][...] = kept.take(which, axis=0) + offsets
            flat.take(here[0], out=here[1], mode="clip")
            return here[1].view(np.float32)

        return decode


def rotation(width: int) -> Floats:
    """Return a fixed random rotation, which spreads the variance over all columns."""
    random = np.random.default_rng(0)
    turned: Floats = np.linalg.qr(random.standard_normal((width, width)))[0].astype(np.float32)
    return turned


def quantised(rows: Floats, columns: int, importance: Floats) -> Codebook:
    """Quantise rows of weights.

    Args:
        rows: rows x columns, a multiple of ``columns``.
        columns: columns per subvector; fewer take more bytes and lose less.
        importance: the importance of each row when fitting the centroids.
    """
    random = np.random.default_rng(0)
    lengths = (np.linalg.norm(rows, axis=1) + 1e-6).astype(np.float16)
    unit = rows / lengths.astype(np.float32)[:, None]
    chance = importance * lengths + 1e-12
    count = min(SAMPLE, len(rows))
    sample = np.sort(random.choice(len(rows), count, replace=False, p=chance / chance.sum()))
    starts = range(0, rows.shape[1], columns)
    centres = np.stack([_centres(unit[sample, at : at + columns], random) for at in starts])
    return Codebook(nearest_centres(unit, centres), lengths, centres)


def nearest_centres(rows: Floats, centres: Floats) -> Ints:
    """Return rows x subvectors: the index of the centroid that is nearest to each subvector."""
    parts = np.split(rows, len(centres), axis=1)
    nearest = [
        _nearest(part, centres_of_part)
        for part, centres_of_part in zip(parts, centres, strict=True)
    ]
    return np.stack(nearest, axis=1)


def _centres(parts: Floats, random: np.random.Generator) -> Floats:
    """Return k-means centroids; with few rows, some are duplicates."""
    centres = parts[random.choice(len(parts), CENTRES, replace=len(parts) < CENTRES)]
    for _ in range(ROUNDS):
        nearest = _nearest(parts, centres)
        times = np.bincount(nearest, minlength=CENTRES)
        sums = [np.bincount(nearest, column, CENTRES) for column in parts.T]
        means = (np.stack(sums, axis=1) / np.maximum(times, 1)[:, None]).astype(np.float32)
        centres = np.where(times[:, None] > 0, means, centres)
    return np.ascontiguousarray(centres)


def _nearest(parts: Floats, centres: Floats) -> Ints:
    half = np.einsum("ij,ij->i", centres, centres) / 2
    near = [
        (parts[at : at + QUANTISED_AT_ONCE] @ centres.T - half).argmax(axis=1)
        for at in range(0, len(parts), QUANTISED_AT_ONCE)
    ]
    return np.concatenate(near).astype(np.uint8)


AT_ONCE = 512
"""Number of texts scored in one matrix, which limits memory use."""


@dataclass(frozen=True, eq=False)
class Encoded:
    """Texts as vectors.

    Attributes:
        hidden: texts x dimensions.
        composition: the features that they are composed of.
    """

    hidden: Floats
    composition: Composition


@dataclass(frozen=True, slots=True, eq=False)
class Encoder:
    """The features that a model knows and their weights.

    Attributes:
        vocabulary: the features.
        weights: features x dimensions.
        word_vectors: what the words mean, if that is known.
    """

    vocabulary: Vocabulary
    weights: Codebook
    word_vectors: WordVectors | None = None

    def encode(self, batch: EncodedBatch) -> Encoded:
        """Return texts as vectors."""
        composition = self.vocabulary.composed(batch.counts)
        halves = self.weights.sums(composition.spelt)
        hidden = weighted_sums(composition.tokens, halves.__getitem__, halves.shape[1])
        return Encoded(hidden + self.weights.sums(composition.pairs), composition)

    def meanings(self, batch: EncodedBatch) -> Floats:
        """Return what texts mean; see `WordVectors.of_texts`."""
        if self.word_vectors is None:
            return np.zeros((len(batch.texts), COLUMNS), np.float32)
        return self.word_vectors.of_texts(batch.cached(self.encode).composition.words)

    def enough_words_known(self, batch: EncodedBatch) -> Bools:
        """Return the texts with enough known words to get a match."""
        return enough_known(batch.texts, self.vocabulary, LEAST_KNOWN)


LEAST_KNOWN = 0.25
"""A text with a smaller share of known words gets no match: its scores are due to chance.

Of 8,000 labelled texts, 2,000 per system, 5 fall below this, all of them reference numbers. Of
made-up noise, all numbers, UUIDs and emoji fall below it, 98 % of rows of random letters and 97 %
of rows of keys. Words of two or three letters are often known by chance, and most of the Latin in
placeholder texts (lorem ipsum) consists of words of some language."""


def portions(texts: Sequence[str]) -> list[tuple[str, ...]]:
    """Split texts into portions of at most `AT_ONCE`."""
    return [tuple(texts[at : at + AT_ONCE]) for at in range(0, len(texts), AT_ONCE)]


Computed = TypeVar("Computed")


class EncodedBatch:
    """A portion of texts, and what is asked of them several times.

    Args:
        counts: what the texts contain.
        texts: the texts themselves; only those that judge codes need them.
    """

    def __init__(self, counts: Counts, texts: Sequence[str] = ()) -> None:
        self.texts = texts
        self.counts = counts
        self._cached: dict[Callable[[EncodedBatch], Any], Any] = {}

    @cached_property
    def items(self) -> tuple[Ints, EncodedBatch]:
        """The places of the texts that end in an item below a heading, and what the items say."""
        items = [item_of(text) for text in self.texts]
        texts = tuple(filter(None, items))
        return np.flatnonzero(items), EncodedBatch(count(texts), texts)

    def cached(self, computed: Callable[[EncodedBatch], Computed]) -> Computed:
        """Return what a function computes of the texts, and keep it for others to read."""
        if computed not in self._cached:
            self._cached[computed] = computed(self)
        result: Computed = self._cached[computed]
        return result


@lru_cache(maxsize=1)
def encode_batch(texts: tuple[str, ...]) -> EncodedBatch:
    """Encode a portion; all systems, and what explains a code, get the same batch."""
    return EncodedBatch(count(texts), texts)


STRANGE, FAMILIAR = 0.1, 0.5
"""If the known share of a text's features is below FAMILIAR, its scores count less, down to zero at
STRANGE: because features are hashed, about that share is known by chance in any script. No labelled
row shows this, so the values are a rule and not measured."""


HEARD = 8
"""How many of the best codes of another system are compared with a candidate."""


@dataclass(frozen=True, eq=False)
class Scorer:
    """The trained network of one system.

    Attributes:
        system: the system.
        encoder: encodes texts as vectors.
        codes: the codes that the network can predict.
        directions: the weight vector of each code.
        prior: the bias of each code, independent of the text.
        title_vectors: codes x columns, of unit length: what the titles mean, if that is known.
    """

    system: System
    encoder: Encoder
    codes: Texts
    directions: IntegerRows
    prior: Floats
    title_vectors: Floats | None = None

    def shares(self, batch: EncodedBatch) -> tuple[Floats, Floats]:
        """Return (texts x codes: rows that sum to one; the known share of each text's features)."""
        encoded = batch.cached(self.encoder.encode)
        shares = softmax(self.directions(encoded.hidden), self.prior)
        return shares, encoded.composition.known

    def heard(self, batch: EncodedBatch) -> tuple[Ints, Floats]:
        """Return (texts x `HEARD`: the best codes; their shares, which add up to one)."""
        indices, shares = highest(batch.cached(self.shares)[0], HEARD)
        return indices, (shares / shares.sum(axis=1, keepdims=True)).astype(np.float32)

    def nearness(self, batch: EncodedBatch, indices: Ints) -> Floats:
        """Return texts x candidates x 2: how near a title is in meaning, and behind the nearest.

        Both are 0 if the model does not know what words mean.
        """
        if self.title_vectors is None:
            return np.zeros((*indices.shape, 2), np.float32)
        texts, titles = batch.cached(self.encoder.meanings), self.title_vectors[indices]
        near = np.einsum("nd,nkd->nk", texts, titles)
        return np.stack([near, near - near.max(axis=1, keepdims=True)], axis=2)

    @cached_property
    def unit_directions(self) -> Floats:
        """The directions, from that of the average code, scaled to unit length."""
        rows, usual = self.directions.rows(), np.exp(self.prior - self.prior.max())
        rows -= (usual[:, None] * rows).sum(axis=0) / usual.sum()
        rows /= np.linalg.norm(rows, axis=1, keepdims=True) + TINY
        return rows

    @cached_property
    def acts(self) -> Ints:
        """The act of each code."""
        return acts_of_codes(self.system, self.codes)

    def enough_words_known(self, batch: EncodedBatch) -> Bools:
        """Return the texts of which the encoder knows enough words, more than chance would."""
        return batch.cached(self.encoder.enough_words_known)


@dataclass(frozen=True, slots=True, eq=False)
class Blend:
    """The weighted mean of the scores of two models, such as a history's and the shipped one's.

    Attributes:
        own: the scores of the model that was trained on fewer texts.
        other: the scores of the model beside it, which knows more wordings.
        weight: the weight of ``own``, from 0 to 1; it is reduced for unfamiliar texts.
        codes: the codes of both models, those of ``own`` first.
        places: the indices of the codes of ``other`` in ``codes``.
    """

    own: Scorer
    other: Scorer
    weight: float
    codes: Texts
    places: Ints

    def shares(self, batch: EncodedBatch) -> tuple[Floats, Floats]:
        """Return the codes' shares and the larger of the two models' known shares."""
        own, other, trust = self.parts(batch)
        shares = np.zeros((len(other), len(self.codes)), np.float32)
        shares[:, self.places] = other
        shares[:, : own.shape[1]] += own
        return shares, trust

    def parts(self, batch: EncodedBatch) -> tuple[Floats, Floats, Floats]:
        """Return what each model adds to the shares of its codes.

        Returns:
            What ``own`` adds (texts x its codes), what ``other`` adds (texts x its codes), and the
            larger of the two known shares of each text.
        """
        other, known_to_other = batch.cached(self.other.shares)  # others read them, too
        own, known_to_own = self.own.shares(batch)
        weight = (self.weight * familiarity(known_to_own))[:, None].astype(np.float32)
        return weight * own, (1 - weight) * other, np.maximum(known_to_own, known_to_other)

    def enough_words_known(self, batch: EncodedBatch) -> Bools:
        """Return the texts of which one of the two models knows enough words."""
        return self.own.enough_words_known(batch) | self.other.enough_words_known(batch)


Scores: TypeAlias = Scorer | Blend
"""Scores the codes of one system."""


def familiarity(known_share: Floats) -> Floats:
    """Return the trust in texts, from 0 to 1, given the known share of their features."""
    trusted: Floats = np.clip((known_share - STRANGE) / (FAMILIAR - STRANGE), 0, 1)
    return trusted


def blend(own: Scorer, other: Scorer, weight: float) -> Blend:
    """Return the blend of both models' scores; see `Blend`."""
    codes = np.concatenate([own.codes, other.codes[~np.isin(other.codes, own.codes)]])
    return Blend(own, other, weight, codes, places(codes, other.codes))


def places(codes: Texts, codes_wanted: Texts) -> Ints:
    """Return the index in ``codes`` of each wanted code, -1 for a code that is missing."""
    index_of = {code: number for number, code in enumerate(codes.tolist())}
    return np.array([index_of.get(code, -1) for code in codes_wanted.tolist()], np.intp)


COLUMNS = 96
"""Columns of a vector; with 128, a third more bytes, one code in 200 more is accepted."""

BYTES = COLUMNS // 2
"""Bytes of a word's vector, with two columns each."""

TINY = 1e-6

ZERO = 8
"""The level that stands for 0, of 16."""

DECODED = np.array([divmod(byte, 16) for byte in range(256)], np.float32) - ZERO
"""The two levels of each byte."""


@dataclass(frozen=True, slots=True, eq=False)
class WordVectors:
    """Vectors of words that are alike where the words mean alike, in many languages.

    The networks know what stood in labelled texts. These vectors began as those of a multilingual
    sentence encoder (see NOTICE), and learned from labels and from an expert's judgement that a
    text is near the titles of its codes. So they also know words of which the labels say little.
    A text costs a lookup for each word, not a run of the encoder.

    Attributes:
        levels: words x `BYTES`, uint8, in the order of the encoder's features.
        scales: the value of one level of each word, float16.
    """

    levels: Ints
    scales: Floats

    def of_texts(self, words: SparseRows) -> Floats:
        """Return texts x `COLUMNS`, scaled to unit length: the weighted sums of their words.

        Args:
            words: texts x features; those that are no words, such as pairs of words, are left out.
        """
        known_words = words.where(words.columns < len(self.levels))
        known_words = known_words.scaled(self.scales[known_words.columns].astype(np.float32))
        vectors = weighted_sums(known_words, self._levels, COLUMNS)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True) + TINY
        return vectors

    def rows(self) -> Floats:
        """Return the vectors of all words."""
        levels = self._levels(np.arange(len(self.levels)))
        vectors: Floats = levels * self.scales.astype(np.float32)[:, None]
        return vectors

    def _levels(self, which: Ints) -> Floats:
        return DECODED[self.levels[which]].reshape(len(which), COLUMNS)
