"""Reads and writes tables of every format behind one interface, batch by batch.

The modules of a format other than CSV are imported where a table has it: together they take a fifth
of the start of a short run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from pipeline.errors import InputError, OutputError
from pipeline.file_options import CsvOptions, ExcelOptions, Format
from pipeline.quoting import listed
from pipeline.tables.arrow import ArrowBatch, ArrowReader, ArrowWriter, labels
from pipeline.tables.csv_dialect import Dialect
from pipeline.tables.csv_reader import CsvBatch, CsvReader
from pipeline.tables.csv_writer import CsvWriter, check_csv
from pipeline.tables.formats import (
    TAB_SUFFIXES,
    archived,
    format_of,
    has_table_suffix,
    is_archive,
    is_table_name,
    local_table,
    output_format_of,
    split_suffixes,
    unpacked,
)
from pipeline.tables.streams import compression_of, sha256_of, spooled
from pipeline.tables.table import (
    Batch,
    Cells,
    NewColumn,
    NewColumns,
    Reader,
    Writer,
    check_unchanged,
)
from pipeline.tables.texts import find_column, naming_all
from pipeline.wording import AS_CSV, written_as

__all__ = [
    "ArrowBatch",
    "ArrowReader",
    "ArrowWriter",
    "Batch",
    "Cells",
    "NewColumn",
    "NewColumns",
    "Reader",
    "Writer",
    "archived",
    "check_unchanged",
    "checked",
    "find_column",
    "format_of",
    "has_table_suffix",
    "is_archive",
    "is_table_name",
    "labels",
    "local_table",
    "naming_all",
    "open_reader",
    "open_writer",
    "output_format_of",
    "read_table",
    "sha256_of",
    "split_suffixes",
    "spooled",
    "unpacked",
]


def open_reader(
    path: Path,
    text_columns: Sequence[str],
    csv: CsvOptions | None = None,
    input_format: Format | None = None,
    excel: ExcelOptions | None = None,
) -> Reader:
    """Open a table file for reading.

    Raises:
        InputError: the file is missing or damaged, or has no such text column.
    """
    _check_file(path)
    match format_of(path, input_format):
        case "parquet":
            from pipeline.tables.parquet import ParquetReader

            return ParquetReader(path, text_columns)
        case "jsonl":
            from pipeline.tables.json_reader import JsonReader

            return JsonReader(path, text_columns)
        case "xlsx":
            from pipeline.tables.xlsx_reader import XlsxReader

            return XlsxReader(path, text_columns, excel or ExcelOptions())
        case "ocds":
            from pipeline.tables.ocds import OcdsReader

            return OcdsReader(path, text_columns)
        case "csv":
            return CsvReader(path, text_columns, csv or CsvOptions())


def read_table(
    path: Path,
    table_format: Format,
    csv: CsvOptions | None = None,
    excel: ExcelOptions | None = None,
    known: Sequence[str] = (),
) -> pa.Table:
    """Read a whole table into memory; all columns of a CSV file are text.

    ``known`` are columns that it has, by which column names below titles are found.
    """
    reader = open_reader(path, known, csv, table_format, excel)
    batches = [batch.to_arrow() for batch in reader.batches()]
    return pa.Table.from_batches(batches, schema=reader.schema)


def open_writer(
    path: Path, name: str, output_format: Format, reader: Reader, new_fields: Sequence[pa.Field]
) -> Writer:
    """Open a file for the reader's columns followed by new ones.

    The suffix of its final name may ask for compression.

    Raises:
        OutputError: the format cannot hold the columns, or the compression that the name asks for.
    """
    match output_format:
        case "parquet":
            from pipeline.tables.parquet import ParquetReader, ParquetWriter

            _refuse_compression(name, "Parquet", ".parquet")
            compression = reader.compression if isinstance(reader, ParquetReader) else ()
            _refuse_duplicate_names(reader.schema.names, "Parquet")
            return ParquetWriter(path, reader.schema, new_fields, compression)
        case "ocds":
            from pipeline.tables.ocds import OcdsWriter

            _check_ocds(reader)
            return OcdsWriter(path, name)
        case "jsonl":
            from pipeline.tables.json_reader import JsonReader
            from pipeline.tables.json_writer import JsonWriter

            _refuse_duplicate_names(reader.schema.names, "JSON")
            return JsonWriter(path, name, isinstance(reader, JsonReader) and reader.in_list)
        case "xlsx":
            from pipeline.tables.xlsx_reader import XlsxReader
            from pipeline.tables.xlsx_writer import XlsxCopy, XlsxWriter

            _refuse_compression(name, "Excel", ".xlsx")
            if isinstance(reader, XlsxReader):
                return XlsxCopy(path, reader, new_fields)
            return XlsxWriter(path, reader, new_fields)
        case "csv":
            return _csv_writer(path, name, reader, [field.name for field in new_fields])


def checked(batches: Iterable[Batch], output_format: Format) -> Iterator[Batch]:
    """Yield batches, and refuse what a format cannot hold, before any money is spent.

    Raises:
        InputError: the format cannot hold a value.
        OutputError: there are too many rows for the format, or a text is too long.
    """
    rows = 0
    for batch in batches:
        match output_format:
            case "csv":
                check_csv(batch)
            case "parquet":
                if not isinstance(batch, CsvBatch):
                    batch.to_arrow()
            case "jsonl":
                from pipeline.tables.json_writer import check_json

                check_json(batch)
            case "xlsx":
                from pipeline.tables.xlsx_writer import check_xlsx

                check_xlsx(batch, rows)
        rows += len(batch.texts)
        yield batch


def _csv_writer(path: Path, name: str, reader: Reader, new_names: Sequence[str]) -> CsvWriter:
    if isinstance(reader, CsvReader):
        dialect, header = reader.dialect, reader.header
        return CsvWriter(path, dialect, name, header, reader.schema.names, new_names)
    _, suffix, _ = split_suffixes(Path(name))
    dialect = Dialect("\t" if suffix.lower() in TAB_SUFFIXES else ",")
    return CsvWriter(path, dialect, name, None, reader.schema.names, new_names)


def _check_file(path: Path) -> None:
    try:
        path.stat()
    except PermissionError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror}.",
            "Check the permissions of the file and of the folders above it.",
        ) from error
    except (OSError, ValueError):
        pass  # there is no such file
    if path.is_file():
        return
    if path.is_dir() or not path.exists():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise InputError(
            f"{path} {what}.", "Give the path of a table: CSV, Excel, JSON, OCDS or Parquet."
        )
    raise InputError(
        f"{path} is not a regular file, and a table must be read twice.",
        "Pipe it to standard input, with - as the path.",
    )


def _check_ocds(reader: Reader) -> None:
    from pipeline.tables.ocds import OcdsReader

    if not isinstance(reader, OcdsReader):
        raise OutputError(
            "Only OCDS data can be written as OCDS.",
            f"Write JSON Lines, with a name that ends in .jsonl: {written_as('jsonl')}.",
        )


def _refuse_compression(name: str, words: str, suffix: str) -> None:
    if compression_of(Path(name)):
        raise OutputError(
            f"{name!r} is the name of a compressed file, but {words} compresses its own data.",
            f"Use a name that ends in {suffix}.",
        )


def _refuse_duplicate_names(names: Sequence[str], words: str) -> None:
    twice = sorted(name for name, often in Counter(names).items() if often > 1)
    if twice:
        raise OutputError(
            f"{words} cannot hold two columns with the same name: {listed(twice)}.",
            f"Rename them, or write CSV: {AS_CSV}.",
        )
