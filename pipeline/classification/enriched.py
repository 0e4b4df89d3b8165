"""Opens an enriched table, the output of a run: its texts, its code columns and how it was made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from pipeline.answers import SYSTEMS, System
from pipeline.classification.columns import new_fields
from pipeline.classification.excerpts import models_there, other_columns
from pipeline.classification.manifest import (
    TOOL,
    part_of,
    read_manifest,
    texts_of_output,
)
from pipeline.engine.model import ModelFolder
from pipeline.errors import InputError, SettingsError
from pipeline.settings import DETECTED, LANGUAGES, CsvOptions, ExcelOptions, Settings
from pipeline.tables.formats import TABLE_FORMATS, format_of, open_reader
from pipeline.tables.table import Reader
from pipeline.wording import TEXT_COLUMN, option

NEEDED = ("code", "title", "confidence", "status")
"""The columns of a system that a review needs."""


class RowCells(NamedTuple):
    """The cells of one system in a row; there are no matches without ``--top``."""

    code: Any
    title: Any
    confidence: Any
    status: Any
    matches: Any = None


@dataclass(frozen=True)
class EnrichedTable:
    """The output of a run, with what gave its codes, for the record and to rank more candidates.

    The lost models are folders that no longer hold what they held in the run.
    The names are those of its columns, also if it has no header.
    """

    path: Path
    reader: Reader
    names: Sequence[str]
    systems: tuple[System, ...]
    prefix: str
    language: str
    model: str
    models: Mapping[System, ModelFolder]
    lost_models: Sequence[str]
    text_columns: Sequence[str]

    def rows(self) -> Iterator[tuple[int, str, Mapping[System, RowCells], Mapping[str, str]]]:
        """Yield the number of each row, its text, its cells by system, and its other columns."""
        asked = Settings(self.systems, tuple(self.text_columns), column_prefix=self.prefix)
        for batch in self.reader.batches():
            columns = batch.to_arrow()
            others = other_columns(columns.rename_columns([*self.names]), asked)
            by_system = [self._cells(columns, system) for system in self.systems]
            rows = zip(batch.numbers, batch.texts, others, *by_system, strict=True)
            for number, text, other, *cells in rows:
                yield number, text, dict(zip(self.systems, cells, strict=True)), other

    def _cells(self, columns: pa.RecordBatch, system: System) -> Iterator[RowCells]:
        names = [f"{self.prefix}{system}_{part}" for part in RowCells._fields]
        positions = [self.names.index(name) for name in names if name in self.names]
        return map(RowCells, *(columns.column(position).to_pylist() for position in positions))


def open_enriched(
    path: Path,
    text_columns: Sequence[str] = (),
    prefix: str | None = None,
    manifest: Mapping[str, Any] | None = None,
    needed: Sequence[str] = NEEDED,
) -> EnrichedTable:
    """Open the output of a run, as its manifest or the arguments describe it.

    The manifest is the one beside the file, unless another is given.

    Raises:
        SettingsError: the manifest is missing, and the arguments do not replace it.
        InputError: the file cannot be read, or has no code columns.
    """
    manifest = read_manifest(path) if manifest is None else manifest
    settings = part_of(manifest, "settings")
    if prefix is None:
        prefix = str(settings.get("column_prefix", ""))
    files = part_of(manifest, "files")
    texts = _text_columns(path, text_columns, settings)
    if not text_columns:
        formats = files.get("input_format"), files.get("output_format")
        texts = texts_of_output(texts, *formats)
    csv, excel = _dialect(files)
    stated = files.get("output_format")
    table_format = next((name for name in TABLE_FORMATS if name == stated), None)
    reader = open_reader(path, texts, csv, format_of(path, table_format), excel)
    names = reader.schema.names if csv.header else _names(reader.schema.names, settings, prefix)
    systems = _systems(path, names, prefix, needed)
    folders = part_of(settings, "models")
    models = models_there(folders, systems)
    there = {model.sha256 for model in models.values()}
    language = str(settings.get("language"))
    return EnrichedTable(
        path=path,
        reader=reader,
        names=names,
        systems=systems,
        prefix=prefix,
        language=language if language in LANGUAGES else "en",
        model=_answerer(manifest),
        models=models,
        lost_models=[folder for folder, sha256 in folders.items() if sha256 not in there],
        text_columns=texts,
    )


def _text_columns(
    path: Path, text_columns: Sequence[str], settings: Mapping[str, Any]
) -> Sequence[str]:
    """Return the given text columns, or those of the manifest."""
    texts = [*text_columns] or settings.get("text_columns")
    if isinstance(texts, list) and all(isinstance(text, str) for text in texts):
        return texts
    if not path.is_file():
        what = "is not a file" if path.exists() else "does not exist"
        raise InputError(f"{path} {what}.", "Give the output of tender-pipeline run.")
    raise SettingsError(
        f"{path} has no manifest that names its text columns.",
        f"Give the output of tender-pipeline run, or name its columns: {TEXT_COLUMN}.",
    )


def _systems(
    path: Path, names: Sequence[str], prefix: str, needed: Sequence[str]
) -> tuple[System, ...]:
    """Return the systems that have all needed columns."""
    systems = tuple(
        system for system in SYSTEMS if all(f"{prefix}{system}_{part}" in names for part in needed)
    )
    if not systems:
        raise InputError(
            f"{path} has no columns such as {prefix}cpv_code and {prefix}cpv_status.",
            "Give the output of tender-pipeline run, in a format with columns; with "
            f"{option('column_prefix')} if the run had one.",
        )
    return systems


def _dialect(files: Mapping[str, Any]) -> tuple[CsvOptions, ExcelOptions]:
    """Return the dialect that the run read its input with, if it wrote the same format."""
    if files.get("output_format") != files.get("input_format"):
        return DETECTED
    header_row = part_of(files, "excel").get("header_row")
    stated = part_of(files, "csv")  # a newer version may have more options
    options = {
        option.name: stated[option.name] for option in fields(CsvOptions) if option.name in stated
    }
    return CsvOptions(**options), ExcelOptions(header_row=header_row)


def _names(there: Sequence[str], settings: Mapping[str, Any], prefix: str) -> Sequence[str]:
    """Return the names of the columns of a file without a header: the last ones are the run's."""
    made = {name: settings[name] for name in ("systems", "top", "explain") if name in settings}
    new = [field.name for field in new_fields(Settings(**made, column_prefix=prefix))]
    old = len(there) - len(new)
    if old < 1:
        raise InputError(
            "The table has fewer columns than its manifest says.",
            "Give the output of tender-pipeline run as it was written.",
        )
    return [*there[:old], *new]


def _answerer(manifest: Mapping[str, Any]) -> str:
    """Return what gave the codes, such as ``engine 0.1.0``."""
    if not manifest:
        return ""
    if service := manifest.get("service"):
        return str(service)
    version = part_of(manifest, "versions").get(TOOL, "")
    models = part_of(part_of(manifest, "settings"), "models")
    used = sorted({str(sha256)[:12] for sha256 in models.values()})
    return ", ".join([f"engine {version}", *map("model {}".format, used)])
