"""The formats of tables: how a file shows which it has, and its reader and writer."""

from __future__ import annotations

import codecs
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path, PurePath
from typing import Literal, Protocol, TypeAlias, cast

import pyarrow as pa

from pipeline.errors import InputError, OutputError
from pipeline.files.regular import open_regular
from pipeline.settings import CsvOptions, ExcelOptions, Format
from pipeline.tables.table import Batch, Reader, Writer
from pipeline.wording import AS_CSV, OUTPUT, both, listed, option, read_as

SAMPLE_BYTES = 64 * 1024
"""How much of a file's beginning shows what it is."""


Compression: TypeAlias = Literal["gzip", "zstd"]

COMPRESSIONS: dict[str, Compression] = {
    ".gz": "gzip",
    ".gzip": "gzip",
    ".zst": "zstd",
    ".zstd": "zstd",
}


@dataclass(frozen=True, slots=True)
class TableFormat:
    """A format of table files: all that is known of it without reading one.

    Attributes:
        title: its name in messages.
        suffixes: those of its files; new ones get the first.
        module: the module of this package that reads and writes it; see `TableModule`.
        words: what messages call such a file.
        magic: what its first bytes may be; none if they do not tell it.
        is_packed: whether its files are binary, and compress their own data.
        unique_names: whether a file cannot have two columns of one name.
    """

    title: str
    suffixes: tuple[str, ...]
    module: str
    words: str = ""
    magic: tuple[bytes, ...] = ()
    is_packed: bool = False
    unique_names: bool = False


# A CSV file may have a column named PAR1; the fifth byte of Parquet begins a structure.
TABLE_FORMATS: dict[Format, TableFormat] = {
    "csv": TableFormat("CSV", (".csv", ".tsv", ".tab", ".txt"), "csv_table"),
    "parquet": TableFormat(
        "Parquet", (".parquet", ".pq"), "parquet", "a Parquet file", (b"PAR1\x15",), True, True
    ),
    "jsonl": TableFormat(
        "JSON Lines", (".jsonl", ".ndjson"), "json_writer", "JSON Lines", unique_names=True
    ),
    "xlsx": TableFormat(
        "Excel",
        (".xlsx",),
        "xlsx_writer",
        "an Excel workbook or another ZIP archive (.zip)",
        (b"PK\x03\x04",),
        is_packed=True,
    ),
    "ocds": TableFormat("OCDS", (".json",), "ocds", "OCDS data"),
}
"""All formats. A new one has an entry here, its name in `Format`, and a module."""

SUFFIXES = {suffix: name for name, each in TABLE_FORMATS.items() for suffix in each.suffixes}


class TableModule(Protocol):
    """What the module of a format has. Each takes all arguments, and uses those that it needs.

    A reader opens its file with `open_regular`, whatever the name, and reads it again from its
    beginning for each pass, in batches of at most `BATCH_ROWS` rows and about `BATCH_CHARS`. A file
    that is damaged, or of another kind (`refuse_other_contents`), is an `InputError`. A writer
    keeps the values and types of the input, and gets metadata once all rows are written.
    """

    def open_reader(
        self, path: Path, text_columns: Sequence[str], csv: CsvOptions, excel: ExcelOptions, /
    ) -> Reader:
        """Open a file; see `pipeline.tables.formats.open_reader`."""
        ...

    def open_writer(
        self, path: Path, name: str, reader: Reader, new_fields: Sequence[pa.Field], /
    ) -> Writer:
        """Open a file; see `pipeline.tables.formats.open_writer`."""
        ...

    def check(self, batch: Batch, rows: int, /) -> None:
        """Refuse what the format cannot hold; this many rows come before the batch."""
        ...


def module_of(name: Format) -> TableModule:
    """Return the module of a format, which is imported where a table has it.

    Together they take a fifth of the start of a short run.
    """
    return cast(TableModule, import_module(f"pipeline.tables.{TABLE_FORMATS[name].module}"))


@dataclass(frozen=True, slots=True)
class Contents:
    """What a file is by its first bytes.

    Attributes:
        words: its name in messages.
        hint: what to do with it.
        magic: what its first bytes may be; none if they do not tell its kind.
        kind: its name where one is expected; "" if none ever is.
        suffix: the suffix that its name should have; "" if this tool cannot read it.
    """

    words: str
    hint: str
    magic: tuple[bytes, ...] = ()
    kind: str = ""
    suffix: str = ""


def _of_format(name: Format, suffix: str = "", words: str = "") -> Contents:
    table_format = TABLE_FORMATS[name]
    suffix = suffix or table_format.suffixes[0]
    hint = f"{read_as(name)} it to end in {suffix}."
    return Contents(
        words or table_format.words, hint, table_format.magic, table_format.title, suffix
    )


DECOMPRESS = "Decompress it, or rename it to end in {} if it is CSV that is compressed once."

KNOWN = (
    *(_of_format(name) for name, each in TABLE_FORMATS.items() if each.magic),
    *(
        Contents(f"data compressed with {name}", DECOMPRESS.format(suffix), (magic,), name, suffix)
        for name, suffix, magic in (
            ("gzip", ".csv.gz", b"\x1f\x8b"),
            ("zstd", ".csv.zst", b"\x28\xb5\x2f\xfd"),
        )
    ),
    Contents(
        "data compressed with bzip2, xz or 7-Zip",
        "Decompress it first, or compress it with gzip or zstd.",
        (
            *(b"BZh%d1AY&SY" % level for level in range(1, 10)),
            b"\xfd7zXZ\x00",
            b"7z\xbc\xaf\x27\x1c",
        ),
    ),
    Contents(
        "an old (.xls) or a protected Excel workbook",
        "Save it as .xlsx, without a password.",
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",),
    ),
    Contents(
        "a Git LFS pointer to the table",
        "Download the table itself: git lfs pull.",
        (b"version https://git-lfs",),
    ),
    Contents(
        "text in UTF-16",
        "Convert it: iconv -f utf-16 -t utf-8 FILE > NEW.",
        (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE),
        TABLE_FORMATS["csv"].title,
        ".csv",
    ),
    Contents("a PDF document", "Export the table as CSV or Excel.", (b"%PDF-",)),
    Contents(
        "a web page",
        "Download the table itself; perhaps the page is for logging in, or says what failed.",
        (b"<!DOCTYPE html", b"<!doctype html", b"<html"),
    ),
)

JSON_LIST = _of_format("jsonl", ".json", "a JSON list")
JSON_LINES = _of_format("jsonl")
OCDS = _of_format("ocds")

PACKAGE = re.compile(rb'"(?:releases|records)"\s*:\s*\[')
RELEASE = re.compile(rb'"(?:tag|tender|awards|contracts|compiledRelease|releases)"\s*:\s*[{\[]')
OCID = re.compile(rb'"ocid"\s*:\s*"')
ABOUT = re.compile(rb'"(?:publishedDate|publisher|publicationPolicy)"\s*:')
"""Members of OCDS packages and releases."""


def contents_of(first: bytes) -> Contents | None:
    """Return the kind of a file by its first bytes; None for CSV and unknown kinds."""
    contents = next((kind for kind in KNOWN if first.startswith(kind.magic)), None)
    return contents or _json_contents(first)


def refuse_other_contents(path: Path, expected: str, first: bytes | None = None) -> None:
    """Refuse a file that is recognised as another kind than the wanted one.

    Without its first bytes, decompressed, they are read from the file as they are. Any JSON may be
    OCDS, which names what is wrong with it better.

    Raises:
        InputError: the file is of another kind.
    """
    contents = contents_of(first_bytes(path) if first is None else first)
    if (
        contents is None
        or contents.kind == expected
        or (contents.kind, expected) == ("Excel", "ZIP")
    ):
        return
    if contents.magic or expected != "OCDS":
        raise InputError(f"{path} holds {contents.words}, not {expected}.", contents.hint)


def first_bytes(path: Path, compression: Compression | None = None) -> bytes:
    """Return the beginning of a file, decompressed; b"" if it cannot be read."""
    with (
        suppress(OSError),
        open_regular(path) as file,
        pa.input_stream(file, compression=compression) as stream,
    ):
        return bytes(stream.read(SAMPLE_BYTES))
    return b""


def _json_contents(first: bytes) -> Contents | None:
    """Return what a file is that begins with a JSON object or a list of objects.

    The first cell of a CSV file may be an object too, so a line that continues after it is CSV.
    """
    begin = first.removeprefix(codecs.BOM_UTF8).lstrip()
    if not begin.startswith((b"{", b"[")):
        return None
    is_ocds = _is_ocds(begin)
    if begin.startswith(b"{") and is_ocds:
        return OCDS
    line = begin.splitlines()[0].rstrip()
    bare = line.replace(b" ", b"")
    if bare == b"[" or bare.startswith(b"[{") or b"".join(begin.split()) == b"[]":
        return OCDS if is_ocds else JSON_LIST
    if bare == b"{":
        return JSON_LINES
    try:
        return JSON_LINES if isinstance(json.loads(line), dict) else None
    except json.JSONDecodeError as error:
        cut_off = line == begin.rstrip() and not error.msg.startswith("Extra data")
        return JSON_LINES if cut_off and bare.startswith(b'{"') else None
    except (ValueError, RecursionError):  # not UTF-8, or nested a thousand times
        return None


def _is_ocds(begin: bytes) -> bool:
    """Return whether an object is an OCDS package, release or record, by its first members."""
    package = PACKAGE.search(begin) and (OCID.search(begin) or ABOUT.search(begin))
    return bool(package or (OCID.search(begin) and RELEASE.search(begin)))


def compression_of(path: PurePath) -> Compression | None:
    """Return the compression of a file's last suffix, None without one."""
    return COMPRESSIONS.get(path.suffix.lower())


BY_CONTENTS: tuple[Format, ...] = ("jsonl", "ocds")
"""The formats whose files may have each other's suffixes."""

NOTES = ("readme.txt", "license.txt", "licence.txt")
"""Files beside tables that are none, although others that end in ``.txt`` are."""

LOCKED = "~$"
"""How the name begins of the file that Excel puts beside an open workbook."""

HIDDEN = (".", "_", LOCKED)
"""How names begin that other tools use for their own files: ``.crc`` files, ``_SUCCESS``."""

_PACKED = " and ".join(each.title for each in TABLE_FORMATS.values() if each.is_packed)

UNKNOWN = (
    "The name {!r} does not show which of the supported formats the table has: "
    + ", ".join(f"{each.title} ({', '.join(each.suffixes)})" for each in TABLE_FORMATS.values())
    + f"; all but {_PACKED} also with .gz or .zst."
)


def split_suffixes(path: PurePath) -> tuple[str, str, str]:
    """Split ``tenders.csv.gz`` into its stem, format suffix and compression suffix."""
    compression = path.suffix if path.suffix.lower() in COMPRESSIONS else ""
    name = path.name.removesuffix(compression)
    suffix = PurePath(name).suffix
    if suffix.lower() not in SUFFIXES:
        suffix = ""
    return name.removesuffix(suffix), suffix, compression


def has_table_suffix(path: PurePath, table_format: Format | None = None) -> bool:
    """Return whether the suffix is that of a table: of a certain format, or of any."""
    named = _by_suffix(path)
    return named is not None and table_format in (None, named)


def is_table_name(path: PurePath) -> bool:
    """Return whether a file in a folder or an archive is a table by its name."""
    return has_table_suffix(path) and path.name.casefold() not in NOTES


def format_of(path: Path, stated: Format | None = None) -> Format:
    """Return the format of an input: the stated one, else the one of its suffix.

    Of JSON, the first bytes tell OCDS from all else, which is read like JSON Lines.

    Raises:
        InputError: the suffix is unknown, or of a format that is not supported.
    """
    found = stated or _by_suffix(path)
    if found in BY_CONTENTS and stated is None:
        return "ocds" if contents_of(first_bytes(path, compression_of(path))) is OCDS else "jsonl"
    if found is not None:
        return found
    use = both("use such a suffix, or --input-format csv", "use such a suffix")
    hint = f"If it has another, such as .xls or .xml, save it as .xlsx or .csv first; else {use}."
    contents = contents_of(first_bytes(path))
    if contents and contents.kind != "Excel":  # ZIP archives are of many programs
        hint = contents.hint
    raise InputError(UNKNOWN.format(path.name), hint)


def output_format_of(
    path: PurePath, stated: Format | None = None, input_format: Format | None = None
) -> Format:
    """Return the format of an output: the stated one, else the one of its suffix.

    OCDS stays OCDS in a file for JSON Lines, and a JSON list may be in a file for OCDS.

    Raises:
        OutputError: the suffix is unknown, of a format that is not supported, or of another than
            the stated one.
    """
    named = _by_suffix(path)
    if stated and named and stated != named and not {stated, named} <= set(BY_CONTENTS):
        raise OutputError(
            f"The name {path.name!r} says {named}, and {option('output_format')} says {stated}.",
            f"Leave out {option('output_format')}, or use a name that ends in "
            f"{TABLE_FORMATS[stated].suffixes[0]}.",
        )
    output_format = stated or named
    if stated is None and input_format and {output_format, input_format} == set(BY_CONTENTS):
        return input_format
    if output_format is not None:
        return output_format
    if isinstance(path, Path) and path.is_dir():
        raise OutputError(f"{path} is a folder.", f"Name a file in it: {OUTPUT}.")
    raise OutputError(
        UNKNOWN.format(path.name),
        f"Use a suffix such as .csv, .csv.gz, .jsonl or .parquet, or {AS_CSV}.",
    )


def _by_suffix(path: PurePath) -> Format | None:
    return SUFFIXES.get(split_suffixes(path)[1].lower())


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
    table_format = TABLE_FORMATS[output_format]
    if table_format.is_packed and compression_of(Path(name)):
        raise OutputError(
            f"{name!r} is the name of a compressed file, but {table_format.title} compresses its "
            "own data.",
            f"Use a name that ends in {table_format.suffixes[0]}.",
        )
    names = Counter(reader.schema.names) if table_format.unique_names else {}
    if twice := sorted(name for name, often in names.items() if often > 1):
        raise OutputError(
            f"{table_format.title} cannot hold two columns with the same name: {listed(twice)}.",
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
        titles = ", ".join(table_format.title for table_format in TABLE_FORMATS.values())
        what = "is a folder" if path.is_dir() else "does not exist"
        raise InputError(
            f"{path} {what}.",
            f"Give the path of a table: {titles}.",
        )
    raise InputError(
        f"{path} is not a regular file, and a table must be read twice.",
        "Pipe it to standard input, with - as the path.",
    )
