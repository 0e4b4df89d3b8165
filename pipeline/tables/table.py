"""What all table formats have: batches, a reader of them, and a writer with new columns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from pipeline.errors import InputChangedError, InputError
from pipeline.money import DECIMALS, DIGITS
from pipeline.wording import RUN_AGAIN

ARROW_USD = pa.decimal128(DIGITS, DECIMALS)
"""The type of a column of US dollars."""

BATCH_ROWS = 1024
"""Rows per batch: large enough for the engine's matrices, small enough to hold several."""

BATCH_CHARS = 16_000_000
"""A batch ends early at this size, so that huge cells do not need huge memory."""


Row = TypeVar("Row")


def in_batches(rows: Iterable[Row], size: Callable[[Row], int]) -> Iterator[list[Row]]:
    """Collect rows into batches, by their number and their sizes in characters."""
    batch: list[Row] = []
    chars = 0
    try:
        for row in rows:
            batch.append(row)
            chars += size(row)
            if len(batch) == BATCH_ROWS or chars >= BATCH_CHARS:
                yield batch
                batch, chars = [], 0
    except InputError:
        if batch:  # a fault in one of them comes first
            yield batch
        raise
    if batch:
        yield batch


class Batch(Protocol):
    """Consecutive rows of a table."""

    @property
    def texts(self) -> Sequence[str]:
        """The text of each row; "" for a row without text."""
        ...

    @property
    def numbers(self) -> Sequence[int]:
        """The number of each row as a spreadsheet counts, below any header; else from 1."""
        ...

    def to_arrow(self) -> pa.RecordBatch:
        """Return the rows' original columns."""
        ...


@dataclass(frozen=True, slots=True)
class NewColumn:
    """A new column for a batch.

    Attributes:
        name: the column's name.
        type: its Arrow type.
        values: one Python value per row: text, float, Decimal, list of dicts, or None.
    """

    name: str
    type: pa.DataType
    values: Sequence[Any]


class Reader(ABC):
    """A table that can be read any number of times.

    Attributes:
        schema: the original columns; those of a CSV file are all text.
        opened_fingerprint: the SHA-256 of the table's bytes when it was opened; "" for a table in
            memory.
        beside_values: what else a file has that only an output in its own format keeps, in words.
    """

    schema: pa.Schema
    opened_fingerprint = ""
    beside_values = ""

    @abstractmethod
    def batches(self, limit: int | None = None) -> Iterator[Batch]:
        """Read the table from its beginning, up to a limit of rows.

        The batches before a damaged record come first, so read to the end before you spend money,
        as a plan does.

        Raises:
            InputError: the table is ragged, undecodable or damaged; the message says where.
        """

    def fingerprint(self) -> str:
        """Return the SHA-256 of the table's current bytes, to compare with `opened_fingerprint`.

        Raises:
            InputError: the table can no longer be read.
        """
        return ""  # a table in memory does not change


def check_unchanged(reader: Reader, message: str) -> None:
    """Make sure that a table still has the bytes that it was opened with.

    Raises:
        InputChangedError: it has others; the message says what follows from that.
    """
    if reader.fingerprint() != reader.opened_fingerprint:
        raise InputChangedError(message, f"{RUN_AGAIN} again.")


class Writer(Protocol):
    """A table that is written batch by batch."""

    @property
    def replaced_characters(self) -> int:
        """How many characters of new columns the encoding lacks; each became "?"."""
        ...

    def write(self, batch: Batch, columns: Sequence[NewColumn]) -> None:
        """Write the batch's original columns followed by the new ones."""
        ...

    def close(self, metadata: dict[str, str]) -> None:
        """Finish the table, with key-value metadata if the format supports it."""
        ...

    def abort(self) -> None:
        """Close the unfinished file, which is useless."""
        ...
