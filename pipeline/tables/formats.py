"""Finds the format of a table from its file name."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path, PurePath

from pipeline.errors import InputError, OutputError
from pipeline.file_options import Format
from pipeline.tables.streams import (
    COMPRESSIONS,
    SAMPLE_BYTES,
    contents_of,
    is_json_list,
    open_input,
)

__all__ = [
    "TAB_SUFFIXES",
    "format_of",
    "has_table_suffix",
    "is_table_name",
    "output_format_of",
    "split_suffixes",
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
    hint = "Use --input-format csv, or a suffix such as .csv, .csv.gz, .jsonl or .parquet."
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
            f"The name {path.name!r} says {named}, and --output-format says {stated}.",
            f"Leave out --output-format, or use a name that ends in {suffix}.",
        )
    found = stated or named
    if found == "ocds" and input_format == "jsonl" and stated is None:
        return "jsonl"
    if found == "jsonl" and input_format == "ocds" and stated is None:
        return "ocds"
    if found is not None:
        return found
    if isinstance(path, Path) and path.is_dir():
        raise OutputError(f"{path} is a folder.", "Name a file in it: --output PATH.")
    raise OutputError(
        _unknown(path),
        "Use a suffix such as .csv, .csv.gz, .jsonl or .parquet, or --output-format csv.",
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
