"""What a job will do, cost and take, as known after the first pass over its table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pipeline.cache import Cache
from pipeline.classification.text_columns import have_words
from pipeline.purchases import Estimate
from pipeline.quoting import how_many
from pipeline.tables.table import Batch


@dataclass(frozen=True, slots=True, repr=False)
class Plan:
    """What a job will do, cost and take.

    Attributes:
        rows: rows in the table.
        empty: rows without text; they are not classified.
        wordless: rows whose text has no words, only numbers, dates or codes.
        purchase: the calls to buy, what they cost and how long they take.
    """

    rows: int
    empty: int
    wordless: int = 0
    purchase: Estimate = field(default_factory=Estimate)

    @property
    def worded(self) -> int:
        """Rows whose text has words."""
        return self.rows - self.empty - self.wordless

    @property
    def rows_line(self) -> str:
        """How many rows the table has, as a line for people."""
        return f"{how_many(self.rows, 'row')}, {self.empty:,} without text"

    @property
    def row_counts(self) -> dict[str, int]:
        """The counts of rows, as JSON types."""
        return {"rows": self.rows, "empty": self.empty, "wordless": self.wordless}

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON types; money as text."""
        return {**self.row_counts, **self.purchase.to_dict()}

    def then(self, later: Plan) -> Plan:
        """Return the plan of this job and a later one, under the same cost limits."""
        return Plan(
            self.rows + later.rows,
            self.empty + later.empty,
            self.wordless + later.wordless,
            self.purchase.then(later.purchase),
        )

    def __str__(self) -> str:
        return f"{self.rows_line}\n{self.purchase}"

    def __repr__(self) -> str:
        return str(self)  # notebooks show a result in this way

    @classmethod
    def of(cls, batches: Iterable[Batch]) -> Plan:
        """Count the rows of a table by reading all of it; the plan buys nothing yet.

        Raises:
            InputError: the table is ragged, undecodable or damaged.
        """
        rows = empty = wordless = 0
        worded = Cache(have_words)
        for batch in batches:
            rows += len(batch.texts)
            texts = [text for text in batch.texts if text]
            empty += len(batch.texts) - len(texts)
            wordless += worded(texts).count(False)
        return cls(rows, empty, wordless)
