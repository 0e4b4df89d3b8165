"""Labelled texts: which rows of a history are used, and their features, so that no text is kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from pipeline.codes import CodeTable, Retired, find_code, normalized
from pipeline.engine.model.encoder import AT_ONCE, EncodedBatch
from pipeline.engine.model.features import Counts, Vocabulary, count
from pipeline.engine.model.matrices import Bools, Ints, Texts
from pipeline.engine.model.model import hashes

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
    def joined(portions: Sequence[Examples]) -> Examples:
        """Concatenate several sets of examples."""
        parts = [part for portion in portions for part in portion.parts]
        hashes = np.concatenate([np.empty(0, np.uint64), *(portion.hashes for portion in portions)])
        return Examples(
            parts, hashes, np.concatenate([np.empty(0, "U8"), *(e.codes for e in portions)])
        )

    def where(self, kept: Bools) -> Examples:
        """Return the examples that a mask selects."""
        ends = np.cumsum([0, *map(len, self.parts)])
        spans = zip(self.parts, ends[:-1], ends[1:], strict=True)
        parts = [part.select(np.flatnonzero(kept[start:end])) for part, start, end in spans]
        return Examples(parts, self.hashes[kept], self.codes[kept])

    def vectors(self, vocabulary: Vocabulary, width: int | None = None) -> sparse.csr_matrix:
        """Return texts x features, float32: the weights that features have in texts.

        Only the first ``width`` features of the vocabulary have columns.
        """
        features = len(vocabulary.features)
        rows = [sparse.csr_matrix((0, features), dtype=np.float32)[:, :width]]
        for vectors in map(vocabulary.vectors, self.parts):
            shape = (len(vectors), features)
            rows.append(
                sparse.csr_matrix((vectors.values, vectors.columns, vectors.ends), shape)[:, :width]
            )
        return sparse.vstack(rows).tocsr()

    def portions(self) -> Iterator[Examples]:
        """Yield the examples in portions whose scores fit in one matrix."""
        start = 0
        for part in self.parts:
            for at in range(0, len(part), AT_ONCE):
                counts = part.select(np.arange(at, min(at + AT_ONCE, len(part))))
                span = slice(start, start + len(counts))
                yield Examples([counts], self.hashes[span], self.codes[span])
                start += len(counts)


def encode_examples(portion: Examples) -> EncodedBatch:
    """Encode a portion of examples; see `Examples.portions`."""
    (counts,) = portion.parts
    return EncodedBatch(counts)


def learnable(table: CodeTable, written: str) -> str | None:
    """Return the code to learn, or None if it is not in the table or not a full code.

    A UNSPSC commodity that the table lacks is still learned if the table has its segment. Answers
    name the commodity once the full table is added, and its nearest known ancestor until then.
    """
    table_code = find_code(table, written)
    if table_code is None and table.system == "unspsc":
        code = normalized("unspsc", written)
        if code and f"{code[:2]}000000" in table:
            return code
    return table_code if table_code is None or table.assignable(table_code) else None


@dataclass(slots=True)
class Dataset:
    """The part of a history that was read so far.

    Attributes:
        table: the valid codes.
        retirements: the retired codes. A row with a retired code is learned under its successor,
            if exactly one code of the table replaced it. Retired codes missing here are unknown.
        rows: how many rows were read.
        without_text: rows left out because they have no text.
        without_code: rows left out because they have no code.
        unknown: number of rows left out, for each code that is unknown or not a full code.
        retired: number of rows with each retired code, left out or learned as its successor.
        beyond: rows learned although the table lacks their commodity.
    """

    table: CodeTable
    retirements: Mapping[str, Retired] = field(default_factory=dict)
    rows: int = 0
    without_text: int = 0
    without_code: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    retired: Counter[str] = field(default_factory=Counter)
    beyond: int = 0
    _parts: list[Examples] = field(default_factory=list)

    def read(self, texts: Sequence[str], codes: Sequence[str]) -> list[bool]:
        """Add rows ("" means no text or no code) and return which of them can be learned."""
        kept_texts, kept_codes, kept = [], [], []
        for text, written in zip(texts, codes, strict=True):
            self.rows += 1
            code = self._code(text, written.strip())
            kept.append(code is not None)
            if code is not None:
                kept_texts.append(text)
                kept_codes.append(code)
        if kept_texts:
            self._parts.append(Examples.of(kept_texts, kept_codes))
        return kept

    def examples(self) -> Examples:
        """Return the examples that can be learned."""
        return Examples.joined(self._parts)

    def _code(self, text: str, written: str) -> str | None:
        if not text:
            self.without_text += 1
            return None
        if not written:
            self.without_code += 1
            return None
        code = learnable(self.table, written)
        if code is None:
            return self._successor(written)
        if code not in self.table:
            self.beyond += 1
        return code

    def _successor(self, written: str) -> str | None:
        """Return the successor of a code that the table lacks, or None if none is known."""
        code = normalized(self.table.system, written)
        if code is None or code not in self.retirements:
            self.unknown[written] += 1
            return None
        self.retired[code] += 1
        return self.retirements[code].successor
