"""Turns texts into short dense vectors, which all systems of a model share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from pipeline.engine.evidence import enough_known
from pipeline.engine.model.arrays import Bools, Floats
from pipeline.engine.model.features import Counts, hashed_features
from pipeline.engine.model.product_quantization import Codebook
from pipeline.engine.model.sparse_rows import SparseRows, weighted_sums
from pipeline.engine.model.vocabulary import Composition, Vocabulary
from pipeline.engine.text.ngrams import Hashes

__all__ = ["AT_ONCE", "Encoded", "Encoder", "enough_words_known", "portions"]

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

    @property
    def known(self) -> Floats:
        """The known share of each text's features."""
        return self.composition.known

    @cached_property
    def words(self) -> SparseRows:
        """Texts x features: the words and pairs of neighbours that are known."""
        return self.composition.words


@dataclass(frozen=True, slots=True, eq=False)
class Encoder:
    """The features that a model knows and their weights.

    Attributes:
        vocabulary: the features.
        weights: features x dimensions.
    """

    vocabulary: Vocabulary
    weights: Codebook

    def encode(self, counts: Counts) -> Encoded:
        """Return texts as vectors."""
        composition = self.vocabulary.composed(counts)
        tokens, pairs, spelt, _ = composition
        halves = self.weights.sums(spelt)
        hidden = weighted_sums(tokens, halves.__getitem__, halves.shape[1])
        return Encoded(hidden + self.weights.sums(pairs), composition)

    def knows(self, hashes: Hashes, are_parts: bool) -> Bools:
        """Return which words, or parts of words, are known; see `pipeline.engine.evidence`."""
        return self.vocabulary.knows(hashed_features(hashes, 2 if are_parts else 0))


LEAST_KNOWN = 0.25
"""A text with a smaller share of known words gets no match: its scores are due to chance.

Of 8,000 labelled texts, 2,000 per system, 5 fall below this, all of them reference numbers. Of
made-up noise, all numbers, UUIDs and emoji fall below it, 98 % of rows of random letters and 97 %
of rows of keys. Words of two or three letters are often known by chance, and most of the Latin in
placeholder texts (lorem ipsum) consists of words of some language."""

ENCODERS = 4
"""How many encoders read a text at most: the shipped models' three, and one of a history."""


@lru_cache(maxsize=ENCODERS)
def enough_words_known(encoder: Encoder, texts: tuple[str, ...]) -> Bools:
    """Return the texts with enough known words to get a match, computed once for all systems."""
    return enough_known(texts, encoder.knows, LEAST_KNOWN)


def portions(texts: Sequence[str]) -> list[tuple[str, ...]]:
    """Split texts into portions of at most `AT_ONCE`."""
    return [tuple(texts[at : at + AT_ONCE]) for at in range(0, len(texts), AT_ONCE)]
