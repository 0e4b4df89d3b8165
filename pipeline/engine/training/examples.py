"""Texts that were counted, so that they need not be kept, and their codes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.engine.model.arrays import Bools, Ints, Texts
from pipeline.engine.model.encoder import AT_ONCE
from pipeline.engine.model.exact_matches import hashes
from pipeline.engine.model.features import Counts, count

__all__ = ["Examples"]

PART = 4_096
"""Texts counted at once."""


@dataclass(frozen=True, slots=True)
class Examples:
    """Labelled texts.

    Attributes:
        parts: the counts of the texts, `PART` at once.
        hashes: of each text.
        codes: of each text.
    """

    parts: Sequence[Counts]
    hashes: Ints
    codes: Texts

    def __len__(self) -> int:
        """Return how many texts there are."""
        return len(self.codes)

    @staticmethod
    def of(texts: Sequence[str], codes: Sequence[str]) -> Examples:
        """Count texts."""
        parts = [count(texts[at : at + PART]) for at in range(0, len(texts), PART)]
        return Examples(parts, hashes(texts), np.array(codes, "U8"))

    @staticmethod
    def joined(some: Sequence[Examples]) -> Examples:
        """Return several as one."""
        parts = [part for each in some for part in each.parts]
        found = np.concatenate([np.empty(0, np.uint64), *(each.hashes for each in some)])
        return Examples(parts, found, np.concatenate([np.empty(0, "U8"), *(e.codes for e in some)]))

    def where(self, kept: Bools) -> Examples:
        """Return some of the examples."""
        ends = np.cumsum([0, *(part.matrix.shape[0] for part in self.parts)])
        places = zip(self.parts, ends[:-1], ends[1:], strict=True)
        parts = [Counts(p.matrix[kept[start:end]], p.present) for p, start, end in places]
        return Examples(parts, self.hashes[kept], self.codes[kept])

    def portions(self) -> Iterator[Examples]:
        """Return the examples in portions whose scores fit in one matrix."""
        start = 0
        for part in self.parts:
            for at in range(0, part.matrix.shape[0], AT_ONCE):
                rows = part.matrix[at : at + AT_ONCE]
                place = slice(start, start + rows.shape[0])
                counts = Counts(rows, part.present)
                yield Examples([counts], self.hashes[place], self.codes[place])
                start += rows.shape[0]
