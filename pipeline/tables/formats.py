"""Finds the format of a table from its name, and its local file."""

from __future__ import annotations

import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path, PurePath, PurePosixPath
from zipfile import BadZipFile, ZipFile, ZipInfo

from pipeline.errors import InputError, OutputError, PipelineError
from pipeline.file_options import Format
from pipeline.files.cloud import Storage
from pipeline.files.paths import AnyPath, CloudPath
from pipeline.files.regular import open_regular
from pipeline.quoting import listed
from pipeline.tables.streams import (
    COMPRESSIONS,
    SAMPLE_BYTES,
    contents_of,
    is_json_list,
    open_input,
    refuse_uncompressed,
)
from pipeline.wording import AS_CSV, OUTPUT, both, option

__all__ = [
    "TAB_SUFFIXES",
    "archived",
    "format_of",
    "has_table_suffix",
    "is_archive",
    "is_table_name",
    "local_table",
    "output_format_of",
    "split_suffixes",
    "unpacked",
]

SUFFIXES: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".xlsx": "xlsx",
    ".json": "ocds",
}

BY_CONTENTS: tuple[Format, ...] = ("jsonl", "ocds")
"""The formats whose files may have each other's suffixes."""

TAB_SUFFIXES = (".tsv", ".tab")

NOTES = ("readme.txt", "license.txt", "licence.txt")
"""Files beside tables that are none, although others that end in ``.txt`` are."""

SUPPORTED = (
    "CSV (.csv, .tsv, .txt), JSON Lines (.jsonl, .ndjson), JSON lists and OCDS (.json), all also "
    "with .gz or .zst, Excel (.xlsx) and Parquet (.parquet) are"
)

SHEET = "Save it as .xlsx or .csv first."
OTHER = "Convert the file to CSV or Parquet first."
PACKED = "Decompress the file first, or compress it with gzip or zstd."

UNSUPPORTED = {
    ".xlsm": ("Excel with macros", SHEET),
    ".xlsb": ("Binary Excel", SHEET),
    ".xls": ("Old Excel", SHEET),
    ".ods": ("OpenDocument", SHEET),
    ".xml": ("XML", OTHER),
    ".avro": ("Avro", OTHER),
    ".orc": ("ORC", OTHER),
    ".arrow": ("Arrow IPC", OTHER),
    ".feather": ("Feather", OTHER),
    ".bz2": ("Compression with bzip2", PACKED),
    ".xz": ("Compression with xz", PACKED),
    ".7z": ("7-Zip", PACKED),
}
"""Other suffixes: the name of the format, and how to convert such a file."""


def split_suffixes(path: PurePath) -> tuple[str, str, str]:
    """Split ``tenders.csv.gz`` into its stem, format suffix and compression suffix."""
    name, compression = _uncompressed(path)
    suffix = Path(name).suffix
    if suffix.lower() not in SUFFIXES:
        return name, "", compression
    return name.removesuffix(suffix), suffix, compression


def has_table_suffix(path: PurePath, table_format: Format | None = None) -> bool:
    """Return whether the suffix is that of a table: of a certain format, or of any."""
    found = _by_suffix(path)
    return found is not None and table_format in (None, found)


def is_table_name(path: PurePath) -> bool:
    """Return whether a file in a folder or an archive is a table by its name."""
    return has_table_suffix(path) and path.name.casefold() not in NOTES


def format_of(path: Path, stated: Format | None = None) -> Format:
    """Return the format of an input: the stated one, else the one of its suffix.

    Of JSON, the first bytes tell OCDS from JSON Lines and from a list, which is read like them.

    Raises:
        InputError: the suffix is unknown, or of a format that is not supported.
    """
    found = stated or _by_suffix(path)
    if found in BY_CONTENTS and stated is None:
        return _json_format(path) or found
    if found is not None:
        return found
    suffix = _suffix(path)
    use = both("Use --input-format csv, or a suffix", "Use a suffix")
    hint = f"{use} such as .csv, .csv.gz, .jsonl or .parquet."
    if suffix in UNSUPPORTED:
        hint = UNSUPPORTED[suffix][1]
    raise InputError(_unknown(path), hint)


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
        suffix = next(suffix for suffix, found in SUFFIXES.items() if found == stated)
        raise OutputError(
            f"The name {path.name!r} says {named}, and {option('output_format')} says {stated}.",
            f"Leave out {option('output_format')}, or use a name that ends in {suffix}.",
        )
    found = stated or named
    if found == "ocds" and input_format == "jsonl" and stated is None:
        return "jsonl"
    if found == "jsonl" and input_format == "ocds" and stated is None:
        return "ocds"
    if found is not None:
        return found
    if isinstance(path, Path) and path.is_dir():
        raise OutputError(f"{path} is a folder.", f"Name a file in it: {OUTPUT}.")
    raise OutputError(
        _unknown(path), f"Use a suffix such as .csv, .csv.gz, .jsonl or .parquet, or {AS_CSV}."
    )


def _unknown(path: PurePath) -> str:
    suffix = _suffix(path)
    if suffix in UNSUPPORTED:
        return f"{path}: {UNSUPPORTED[suffix][0]} is not supported yet; {SUPPORTED}."
    return f"The name {path.name!r} does not show the format of the table."


def _json_format(path: Path) -> Format | None:
    """Return the format of a JSON file by its first bytes; None if they do not show it."""
    first = b""
    with suppress(InputError), open_input(path) as stream:
        first = stream.read(SAMPLE_BYTES)
    if is_json_list(first):
        return "jsonl"
    found = contents_of(first)
    kinds: dict[str, Format] = {"OCDS": "ocds", "JSON Lines": "jsonl"}
    return kinds.get(found.kind) if found else None


def _by_suffix(path: PurePath) -> Format | None:
    return SUFFIXES.get(_suffix(path))


def _suffix(path: PurePath) -> str:
    return Path(_uncompressed(path)[0]).suffix.lower()


def _uncompressed(path: PurePath) -> tuple[str, str]:
    """Return a file's name without its compression suffix, and that suffix."""
    compression = path.suffix if path.suffix.lower() in COMPRESSIONS else ""
    return path.name.removesuffix(compression), compression


DAMAGED = (BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError)
"""What reading an archive raises if it is damaged, encrypted, or compressed in an unknown way."""

SMALL = 2**30
MOST_TIMES = 200
"""A table over 1 GiB that is this many times as large as in its archive is not unpacked. Tables of
text shrink to a fifth or a tenth; only a "zip bomb" shrinks to a thousandth."""

SPARE = 2**28
"""Bytes of the disk that must stay free."""


def is_archive(path: PurePath) -> bool:
    """Return whether a name is that of a ZIP archive."""
    return path.suffix.lower() == ".zip"


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """Copy the table of an archive to a temporary file; errors name the archive.

    Raises:
        InputError: the archive is damaged, does not hold exactly one table, or holds one that is
            too large.
    """
    with tempfile.TemporaryDirectory(prefix="tender-pipeline-") as folder:
        copy = _copied(path, Path(folder))
        try:
            yield copy
        except PipelineError as error:
            error.message = error.message.replace(str(copy), f"{path} ({copy.name})")
            raise


def archived(path: Path) -> list[str]:
    """Return the names of the tables in an archive, without what systems add to it.

    Raises:
        InputError: the archive is damaged.
    """
    with _opened(path) as archive:
        return _tables(archive)


@contextmanager
def _opened(path: Path) -> Iterator[ZipFile]:
    try:
        with open_regular(path) as file, ZipFile(file) as archive:
            yield archive
    except DAMAGED as error:
        refuse_uncompressed(path, "ZIP")
        raise InputError(
            f"{path} cannot be unpacked: {error}.",
            "Unpack it yourself, and give the path of the table.",
        ) from error


def _copied(path: Path, folder: Path) -> Path:
    with _opened(path) as archive:
        tables = _tables(archive)
        if len(tables) != 1:
            found = f"{len(tables)} tables: {listed(tables)}" if tables else "no table"
            raise InputError(
                f"{path} has {found}.", "Unpack it, and give the path of a table or of the folder."
            )
        _check_size(path, archive.getinfo(tables[0]), folder)
        copy = folder / PurePosixPath(tables[0]).name
        with archive.open(tables[0]) as packed, copy.open("wb") as target:
            shutil.copyfileobj(packed, target)
        return copy


def _check_size(path: Path, table: ZipInfo, folder: Path) -> None:
    """Refuse a table that would fill the disk; no more bytes than its stated size are unpacked."""
    size, packed = table.file_size, max(1, table.compress_size)
    holds = f"{path} holds {table.filename!r} with {size:,} bytes"
    if size > SMALL and size > MOST_TIMES * packed:
        raise InputError(
            f"{holds}, {size // packed:,} times as many as in the archive.",
            f"If that is right, unpack it yourself; over {MOST_TIMES} times looks like an attack.",
        )
    free = shutil.disk_usage(folder).free
    if size > free - SPARE:
        raise InputError(
            f"{holds}, and {folder.parent} has {free:,} bytes free.",
            "Free some space, name a larger folder in the variable TMPDIR, or unpack it yourself.",
        )


def _tables(archive: ZipFile) -> list[str]:
    names = [(info.filename, PurePosixPath(info.filename)) for info in archive.infolist()]
    return [  # a name may be there twice
        name
        for name, inner in names
        if is_table_name(inner) and not inner.name.startswith((".", "_"))
        if inner.parts[0] != "__MACOSX"
    ]


@contextmanager
def local_table(given: AnyPath, storage: Storage) -> Iterator[tuple[Path, str | None]]:
    """Yield the file of a table, and the version of the object that it is a copy of.

    The file is temporary if the table is an object or in an archive; errors name what was given.

    Raises:
        InputError: the object or the archive cannot be read.
    """
    if not isinstance(given, CloudPath):
        with unpacked(given) if is_archive(given) else nullcontext(given) as path:
            yield path, None
        return
    with storage.local_copy(given) as (copy, version):
        try:
            with local_table(copy, storage) as (path, _):
                yield path, version
        except PipelineError as error:
            error.message = error.message.replace(str(copy), str(given))
            raise
