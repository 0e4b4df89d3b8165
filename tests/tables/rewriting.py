"""Reads a table and writes it again with columns behind its own, as a job does."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pipeline.settings import CsvOptions, Format
from pipeline.tables.formats import open_reader, open_writer
from pipeline.tables.table import ARROW_USD, NewColumn, Reader, Writer

CODE = pa.field("cpv_code", pa.string())
TITLE = pa.field('the "title", in full', pa.string())
NEW_FIELDS = [CODE, TITLE]

KEYS = [pa.field("code", pa.string()), pa.field("cost", ARROW_USD)]
NEW = b'"code": "1", "cost": "0.1"'
"""The new fields in tests of JSON, and how they look in a record."""


@contextmanager
def folder() -> Iterator[Path]:
    """Give a fresh folder to each example of a property test."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@contextmanager
def small_steps(chunk_bytes: int, batch_rows: int, batch_chars: int) -> Iterator[None]:
    """Read CSV in chunks and batches of other sizes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pipeline.tables.csv_records.CHUNK_BYTES", chunk_bytes)
        patch.setattr("pipeline.tables.table.BATCH_ROWS", batch_rows)
        patch.setattr("pipeline.tables.table.BATCH_CHARS", batch_chars)
        yield


def texts_of(reader: Reader) -> list[str]:
    return [text for batch in reader.batches() for text in batch.texts]


def csv_rows(reader: Reader) -> list[list[str | None]]:
    """Return all rows of a reader, cell by cell."""
    rows: list[list[str | None]] = []
    for batch in reader.batches():
        columns = [column.to_pylist() for column in batch.to_arrow().columns]
        rows += [list(cells) for cells in zip(*columns, strict=True)]
    return rows


def rewrite(
    reader: Reader,
    output: Path,
    added: Sequence[Sequence[Any]],
    output_format: Format = "csv",
    fields: Sequence[pa.Field] = NEW_FIELDS,
    metadata: dict[str, str] | None = None,
) -> Writer:
    """Write the reader's table to a file with new cells, one sequence of them for each row."""
    writer = open_writer(output, output.name, output_format, reader, fields)
    try:
        done = 0
        for batch in reader.batches():
            rows = added[done : done + len(batch.texts)]
            done += len(rows)
            columns = [[row[place] for row in rows] for place in range(len(fields))]
            new = [NewColumn(f.name, f.type, c) for f, c in zip(fields, columns, strict=True)]
            writer.write(batch, new)
        writer.close(metadata or {})
    except BaseException:
        writer.abort()
        raise
    assert done == len(added)
    return writer


def rewrite_all(
    reader: Reader,
    output: Path,
    cells: Sequence[Any],
    output_format: Format = "csv",
    fields: Sequence[pa.Field] = NEW_FIELDS,
) -> bytes:
    """Write the reader's table with the same new cells behind every row; return the bytes."""
    rewrite(reader, output, [cells] * len(texts_of(reader)), output_format, fields)
    return output.read_bytes()


def rewritten(data: bytes, name: str, options: CsvOptions | None = None) -> bytes:
    """Rewrite a small CSV file with the same two cells behind every row."""
    with folder() as place:
        (place / name).write_bytes(data)
        reader = open_reader(place / name, (), options)
        return rewrite_all(reader, place / "out.csv", ("1", "x"))
