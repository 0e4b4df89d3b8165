"""Knows the format of a table by its name, and which formats are not supported yet."""

from __future__ import annotations

from pathlib import Path

from pipeline.errors import InputError, OutputError
from pipeline.settings import Format
from pipeline.tables.streams import COMPRESSIONS

__all__ = ["TAB_SUFFIXES", "format_of", "output_format_of", "split_suffixes"]

SUFFIXES: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
}

TAB_SUFFIXES = (".tsv", ".tab")

SUPPORTED = "CSV (.csv, .tsv, .txt; with .gz or .zst compressed) and Parquet (.parquet) are"

SHEET = "Save the sheet as CSV first."
RECORDS = (
    "Convert the file first, with pandas for example: "
    "pandas.read_json({name!r}{more}).to_parquet({parquet!r})."
)
OTHER = "Convert the file to CSV or Parquet first."

UNSUPPORTED = {
    ".json": ("JSON", RECORDS),
    ".jsonl": ("JSON Lines", RECORDS),
    ".ndjson": ("JSON Lines", RECORDS),
    ".xlsx": ("Excel", SHEET),
    ".xlsm": ("Excel", SHEET),
    ".xlsb": ("Excel", SHEET),
    ".xls": ("Excel", SHEET),
    ".ods": ("OpenDocument", SHEET),
    ".xml": ("XML", OTHER),
    ".avro": ("Avro", OTHER),
    ".orc": ("ORC", OTHER),
    ".arrow": ("Arrow IPC", OTHER),
    ".feather": ("Feather", OTHER),
}
"""What other suffixes stand for, and what to do with a file that has one."""


def split_suffixes(path: Path) -> tuple[str, str, str]:
    """Split ``tenders.csv.gz`` into its stem, format suffix and compression suffix."""
    name, compression = _uncompressed(path)
    suffix = Path(name).suffix
    if suffix.lower() not in SUFFIXES:
        return name, "", compression
    return name.removesuffix(suffix), suffix, compression


def format_of(path: Path, stated: Format | None = None) -> Format:
    """Return the format of an input: the stated one, else what the suffix says.

    Raises:
        InputError: the suffix says nothing, or names a format that is not supported.
    """
    found = stated or _by_suffix(path)
    if found is not None:
        return found
    suffix = _suffix(path)
    if suffix in UNSUPPORTED:
        words, hint = UNSUPPORTED[suffix]
        more = "" if suffix == ".json" else ", lines=True"
        parquet = f"{split_suffixes(path)[0].removesuffix(suffix)}.parquet"
        raise InputError(
            f"{path}: {words} is not supported yet; {SUPPORTED}.",
            hint.format(name=path.name, more=more, parquet=parquet),
        )
    raise InputError(
        f"The name {path.name!r} does not say whether the table is CSV or Parquet.",
        "Say so with --input-format csv, or use a suffix such as .csv, .csv.gz or .parquet.",
    )


def output_format_of(path: Path, stated: Format | None = None) -> Format:
    """Return the format of an output: the stated one, else what the suffix says.

    Raises:
        OutputError: the suffix says nothing, or names a format that is not supported.
    """
    found = stated or _by_suffix(path)
    if found is not None:
        return found
    suffix = _suffix(path)
    what = (
        f"{path}: {UNSUPPORTED[suffix][0]} is not supported yet; {SUPPORTED}."
        if suffix in UNSUPPORTED
        else f"The name {path.name!r} does not say whether to write CSV or Parquet."
    )
    raise OutputError(
        what, "Use a suffix such as .csv, .csv.gz or .parquet, or say so with --output-format csv."
    )


def _by_suffix(path: Path) -> Format | None:
    return SUFFIXES.get(_suffix(path))


def _suffix(path: Path) -> str:
    return Path(_uncompressed(path)[0]).suffix.lower()


def _uncompressed(path: Path) -> tuple[str, str]:
    """Return a file's name without the suffix of a compression, and that suffix."""
    compression = path.suffix if path.suffix.lower() in COMPRESSIONS else ""
    return path.name.removesuffix(compression), compression
