"""The first pass over a table: proves that it can be read, and says what is in it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pipeline.classification.text_columns import has_words
from pipeline.tables import Batch

__all__ = ["Plan", "scan"]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a job is about to do.

    Attributes:
        rows: rows in the table.
        empty: rows of them without text; they are not classified.
        wordless: rows whose text has no words: numbers, dates and codes.
    """

    rows: int
    empty: int
    wordless: int = 0

    @property
    def worded(self) -> int:
        """Rows whose text has words."""
        return self.rows - self.empty - self.wordless

    def __str__(self) -> str:
        return f"{self.rows:,} rows, {self.empty:,} without text"


def scan(batches: Iterable[Batch]) -> Plan:
    """Read the whole table once; a ragged or undecodable one fails here, before anything else.

    Raises:
        InputError: the table cannot be read to its end.
    """
    rows = empty = wordless = 0
    for batch in batches:
        rows += len(batch.texts)
        texts = [text for text in batch.texts if text]
        empty += len(batch.texts) - len(texts)
        wordless += sum(not has_words(text) for text in texts)
    return Plan(rows, empty, wordless)
