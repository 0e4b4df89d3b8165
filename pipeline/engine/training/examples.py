"""Labelled texts, stored as feature counts so that the texts need not be kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from pipeline.engine.model.arrays import Bools, Ints, Texts
from pipeline.engine.model.encoder import AT_ONCE
from pipeline.engine.model.exact_matches import hashes
from pipeline.engine.model.features import Counts, count
from pipeline.engine.model.reading import Reading
from pipeline.engine.model.vocabulary import Vocabulary

__all__ = ["Examples", "reading"]

PART = 4_096
"""Number of texts counted at once."""


@dataclass(frozen=True, slots=True)
class Examples:
    """Labelled texts, as feature counts.

    Attributes:
        parts: feature counts of the texts, up to `PART` texts each.
        hashes: the hash of each text.
        codes: the code of each text.
    """

    parts: Sequence[Counts]
    hashes: Ints
    codes: Texts

    def __len__(self) -> int:
        """Return the number of texts."""
        return len(self.codes)

    @staticmethod
    def of(texts: Sequence[str], codes: Sequence[str]) -> Examples:
        """Count the features of labelled texts."""
        parts = [count(texts[at : at + PART]) for at in range(0, len(texts), PART)]
        return Examples(parts, hashes(texts), np.array(codes, "U8"))

    @staticmethod
    def joined(some: Sequence[Examples]) -> Examples:
        """Concatenate several sets of examples."""
        parts = [part for each in some for part in each.parts]
        found = np.concatenate([np.empty(0, np.uint64), *(each.hashes for each in some)])
        return Examples(parts, found, np.concatenate([np.empty(0, "U8"), *(e.codes for e in some)]))

    def where(self, kept: Bools) -> Examples:
        """Return the examples that a mask selects."""
        ends = np.cumsum([0, *map(len, self.parts)])
        places = zip(self.parts, ends[:-1], ends[1:], strict=True)
        parts = [part.select(np.flatnonzero(kept[start:end])) for part, start, end in places]
        return Examples(parts, self.hashes[kept], self.codes[kept])

    def vectors(self, vocabulary: Vocabulary, width: int | None = None) -> sparse.csr_matrix:
        """Return texts x features, float32: the weights that features have in texts.

        Only the first ``width`` features of the vocabulary have columns.
        """
        features = len(vocabulary.features)
        rows = [sparse.csr_matrix((0, features), dtype=np.float32)[:, :width]]
        for each in map(vocabulary.vectors, self.parts):
            shape = (len(each), features)
            rows.append(sparse.csr_matrix((each.values, each.columns, each.ends), shape)[:, :width])
        return sparse.vstack(rows).tocsr()

    def portions(self) -> Iterator[Examples]:
        """Yield the examples in portions whose scores fit in one matrix."""
        start = 0
        for part in self.parts:
            for at in range(0, len(part), AT_ONCE):
                counts = part.select(np.arange(at, min(at + AT_ONCE, len(part))))
                place = slice(start, start + len(counts))
                yield Examples([counts], self.hashes[place], self.codes[place])
                start += len(counts)


def reading(portion: Examples) -> Reading:
    """Return the reading of a portion of examples; see `Examples.portions`."""
    (counts,) = portion.parts
    return Reading(lambda encoder: encoder.encode(counts), counts)
