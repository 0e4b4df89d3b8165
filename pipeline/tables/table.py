"""What every table format offers: batches of rows to read, and a place to write them with more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

__all__ = ["BATCH_CHARS", "BATCH_ROWS", "Batch", "NewColumn", "Reader", "Writer"]

BATCH_ROWS = 1024
"""Rows in a batch: enough for the engine's matrices, small enough to hold several."""

BATCH_CHARS = 16_000_000
"""A batch ends early here, so that a table of huge cells does not need huge memory."""


class Batch(Protocol):
    """A run of rows, as the table has them."""

    @property
    def texts(self) -> Sequence[str]:
        """The text of each row; "" where there is none."""
        ...

    def to_arrow(self) -> pa.RecordBatch:
        """Return the rows' original columns."""
        ...

    def head(self, rows: int) -> Batch:
        """Return the first rows only."""
        ...


@dataclass(frozen=True, slots=True)
class NewColumn:
    """A column that is added to a batch.

    Attributes:
        name: the column's name.
        type: its Arrow type.
        values: one Python value a row: text, float, Decimal, list of dicts, or None.
    """

    name: str
    type: pa.DataType
    values: Sequence[Any]


class Reader(Protocol):
    """A table that can be read from its beginning any number of times."""

    @property
    def opened_fingerprint(self) -> str:
        """The SHA-256 of the table's bytes before anything of them was read; "" in memory."""
        ...

    @property
    def schema(self) -> pa.Schema:
        """The original columns; a CSV file's are all text."""
        ...

    def batches(self) -> Iterator[Batch]:
        """Read the table from its beginning.

        Raises:
            InputError: the table is ragged, undecodable or damaged; the message says where.
        """
        ...

    def fingerprint(self) -> str:
        """Return the SHA-256 of the table's bytes as they are now.

        Where it is not `opened_fingerprint`, the table changed since it was opened.

        Raises:
            InputError: the table cannot be read any more.
        """
        ...


class Writer(Protocol):
    """A table being written, batch by batch."""

    @property
    def replaced_characters(self) -> int:
        """How many characters of ours the output's encoding lacks; each became "?"."""
        ...

    def write(self, batch: Batch, columns: Sequence[NewColumn]) -> None:
        """Write the batch's original columns and the new ones behind them."""
        ...

    def close(self, metadata: dict[str, str]) -> None:
        """Finish the table; formats that can keep key-value metadata keep it."""
        ...

    def abort(self) -> None:
        """Let go of the file; what was written so far is of no use."""
        ...
