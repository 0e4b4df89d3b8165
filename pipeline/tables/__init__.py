"""Reads and writes tables of every format behind one interface, batch by batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from pipeline.errors import InputError, OutputError
from pipeline.quoting import listed
from pipeline.settings import CsvOptions, ExcelOptions, Format
from pipeline.tables.formats import TABLE_FORMATS, compression_of, format_of, module_of
from pipeline.tables.table import Batch, Reader, Writer
from pipeline.wording import AS_CSV


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
    module = module_of(format_of(path, input_format))
    return module.open_reader(path, text_columns, csv or CsvOptions(), excel or ExcelOptions())


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
    known = TABLE_FORMATS[output_format]
    if known.is_packed and compression_of(Path(name)):
        raise OutputError(
            f"{name!r} is the name of a compressed file, but {known.title} compresses its own "
            "data.",
            f"Use a name that ends in {known.suffixes[0]}.",
        )
    names = Counter(reader.schema.names) if known.unique_names else {}
    if twice := sorted(name for name, often in names.items() if often > 1):
        raise OutputError(
            f"{known.title} cannot hold two columns with the same name: {listed(twice)}.",
            f"Rename them, or write CSV: {AS_CSV}.",
        )
    return module_of(output_format).open_writer(path, name, reader, new_fields)


def checked(batches: Iterable[Batch], output_format: Format) -> Iterator[Batch]:
    """Yield batches, and refuse what a format cannot hold, before any money is spent.

    Raises:
        InputError: the format cannot hold a value.
        OutputError: there are too many rows for the format, or a text is too long.
    """
    check = module_of(output_format).check
    rows = 0
    for batch in batches:
        check(batch, rows)
        rows += len(batch.texts)
        yield batch


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
        titles = ", ".join(known.title for known in TABLE_FORMATS.values())
        what = "is a folder" if path.is_dir() else "does not exist"
        raise InputError(
            f"{path} {what}.",
            f"Give the path of a table: {titles}.",
        )
    raise InputError(
        f"{path} is not a regular file, and a table must be read twice.",
        "Pipe it to standard input, with - as the path.",
    )
