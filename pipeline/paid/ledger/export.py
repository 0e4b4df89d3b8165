"""Exports the ledger's attempts as a table: Parquet or CSV, streamed, with exact money."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.errors import LedgerError, OutputError, SettingsError
from pipeline.files.atomic import new_file, translated
from pipeline.money import plain
from pipeline.paid.ledger.calls import unpack
from pipeline.paid.ledger.database import Snapshot
from pipeline.quoting import command
from pipeline.tables.cells import cell
from pipeline.tables.table import ARROW_USD, in_batches

TIME = pa.timestamp("us", "UTC")

COLUMNS = pa.schema(
    [
        ("attempt", pa.int64()),
        ("job", pa.int64()),
        ("endpoint", pa.string()),
        ("account", pa.string()),
        ("system", pa.string()),
        ("text_sha256", pa.string()),
        ("sent_at", TIME),
        ("settled_at", TIME),
        ("state", pa.string()),
        ("error", pa.string()),
        ("http_status", pa.int64()),
        ("cost_usd", ARROW_USD),
        ("reserved_usd", ARROW_USD),
    ]
)
BODY = pa.field("body", pa.string())

ATTEMPTS = """
    SELECT attempt_id, job_id, endpoint, account, system, lower(hex(digest)), sent_at, settled_at,
        state, error, attempts.status, cost_usd, reserved_usd, {body}
    FROM attempts JOIN jobs USING (job_id) {bodies} ORDER BY attempt_id
"""

FROM_THE_SERVICE = ("error", "body")
"""The columns whose texts a spreadsheet might take for formulas; all others are ours."""

_Row: TypeAlias = tuple[Any, ...]

_plain = lru_cache(4096)(plain)


class _Writer(Protocol):
    def write_batch(self, batch: pa.RecordBatch) -> None: ...

    def close(self) -> None: ...


def export(snapshot: Snapshot, path: Path, bodies: bool = False, overwrite: bool = False) -> int:
    """Write all attempts to a Parquet or CSV file; return how many there are.

    The file is put in place once it is complete.

    Args:
        snapshot: the ledger.
        path: the file; its suffix decides the format.
        bodies: whether to include the text of the responses.
        overwrite: whether to replace an existing file.

    Raises:
        SettingsError: the suffix is neither ``.parquet`` nor ``.csv``.
        OutputError: the file exists, or cannot be written.
        LedgerError: the ledger cannot be read.
    """
    writers: dict[str, Callable[[Path, pa.Schema], _Writer]]
    writers = {".parquet": _parquet, ".csv": _Csv}
    if path.suffix.lower() not in writers:
        raise SettingsError(
            f"{path} is neither Parquet nor CSV.", "Name a .parquet or a .csv file."
        )
    schema = COLUMNS.append(BODY) if bodies else COLUMNS
    target = path.resolve()
    if target.exists() and target.samefile(snapshot.path):
        raise OutputError(f"{target} is the ledger.", "Name another FILE.")
    written = 0
    with (
        translated(path, "FILE"),
        new_file(target, overwrite) as temporary,
        closing(writers[path.suffix.lower()](temporary, schema)) as writer,
    ):
        for rows in in_batches(_rows(snapshot, bodies), lambda row: len(row[-1] or "")):
            writer.write_batch(_batch(rows, schema))
            written += len(rows)
    return written


def _rows(snapshot: Snapshot, bodies: bool) -> Iterator[_Row]:
    joined = {"body": "body", "bodies": "LEFT JOIN bodies USING (attempt_id)"}
    query = ATTEMPTS.format(**joined if bodies else {"body": "NULL", "bodies": ""})
    for *values, packed in snapshot.rows(query):
        yield *values, None if packed is None else _text(values[0], packed, snapshot.path)


def _text(attempt: int, packed: object, ledger: Path) -> str:
    body = unpack(attempt, packed, ledger)
    return body.decode(json.detect_encoding(body), "replace")


def _batch(rows: list[_Row], schema: pa.Schema) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [_array(values, field.type) for values, field in zip(columns, schema, strict=False)]
    return pa.record_batch(arrays, schema)


def _array(values: tuple[Any, ...], kind: pa.DataType) -> pa.Array:
    try:
        if kind == TIME:
            micros = pc.round(pc.multiply(pa.array(values, pa.float64()), 1e6))
            return micros.cast(pa.int64()).cast(kind)
        if kind == ARROW_USD:
            return pa.array(values, pa.string()).cast(kind)
        return pa.array(values, kind)
    except pa.ArrowException as error:
        raise LedgerError(
            f"The ledger has a value that a table cannot hold: {error}.",
            f"See which attempts are wrong: {command('ledger verify --ledger PATH')}",
        ) from error


def _parquet(path: Path, schema: pa.Schema) -> _Writer:
    alike = [name for name in schema.names if name not in ("text_sha256", "body")]
    writer: _Writer = pq.ParquetWriter(path, schema, compression="zstd", use_dictionary=alike)
    return writer


class _Csv:
    """Writes CSV: times as ISO 8601, money in plain notation, null as an empty field."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._file = path.open("w", newline="", encoding="utf-8")
        self._rows = csv.writer(self._file, lineterminator="\n")
        self._rows.writerow(schema.names)

    def write_batch(self, batch: pa.RecordBatch) -> None:
        columns = map(_cells, batch.schema.names, batch.columns)
        self._rows.writerows(zip(*columns, strict=True))

    def close(self) -> None:
        self._file.close()


def _cells(name: str, column: pa.Array) -> list[Any]:
    if column.type == TIME:
        return _times(column)
    values: list[Any] = column.to_pylist()
    if column.type == ARROW_USD:
        return [None if usd is None else _plain(usd) for usd in values]
    return [cell(value) for value in values] if name in FROM_THE_SERVICE else values


def _times(column: pa.Array) -> list[str | None]:
    """Format times as ISO 8601; Arrow takes ten times as long if it handles the time zone."""
    texts = column.cast(pa.timestamp("us")).cast(pa.string())
    written: list[str | None] = pc.binary_join_element_wise(texts, "Z", "").to_pylist()
    return written
