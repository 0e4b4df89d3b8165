"""The command that repeats the run of an output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from shlex import join
from typing import Any

from pipeline.checks import option_name
from pipeline.classification.provenance import part_of, path_from_here
from pipeline.classification.sink import default_output
from pipeline.file_options import FORMATS, CsvOptions
from pipeline.settings import Settings

__all__ = ["repeated_run"]

SINGLE = ("top", "min_confidence", "roll_up", "column_prefix", "limit_rows", "engine", "language")
"""The settings whose options take one value."""

DIALECT = {
    "delimiter": None,
    "encoding": None,
    "line_end": None,
    "quote_escape": CsvOptions().quote_escape,
    "sheet": None,
    "header_row": None,
}
"""The options that describe a table file and take one value, each with its default."""


def repeated_run(manifest: Mapping[str, Any], output: Path) -> str:
    """Return the command of the run that wrote an output, as its manifest describes it.

    Anybody may have changed the manifest. Options for buying and for speed are left out.
    """
    given = str(part_of(manifest, "input").get("path") or "INPUT")
    source = path_from_here(manifest, given, output)
    reading = _reading(part_of(manifest, "files"))
    words = ["tender-pipeline", "run", source, *reading, *_options(manifest, output)]
    if not _is_default(manifest, source, output):
        words += ["--output", str(output)]
    return join(words)


def _reading(files: Mapping[str, Any]) -> Iterator[str]:
    """Yield the options with which the run read its table."""
    csv, excel = part_of(files, "csv"), part_of(files, "excel")
    options = {**csv, **{name: value for name, value in excel.items() if value is not None}}
    for name, usual in DIALECT.items():
        value = options.get(name)
        if value is not None and value != usual:
            yield from (option_name(name), "tab" if value == "\t" else str(value))
    if options.get("header") is False:
        yield "--no-header"


def _options(manifest: Mapping[str, Any], output: Path) -> Iterator[str]:
    settings, usual = part_of(manifest, "settings"), asdict(Settings())
    service = manifest.get("service")
    if [*_names(settings, "systems")] != [*usual["systems"]]:
        yield from ("--systems", ",".join(_names(settings, "systems")))
    if [*_names(settings, "text_columns")] != [*usual["text_columns"]]:
        for name in _names(settings, "text_columns"):
            yield from ("--text-column", name)
    for name in SINGLE:
        value = settings.get(name)
        is_usual = value == usual[name] or (name == "min_confidence" and service and not value)
        if value is not None and not is_usual:
            yield from (option_name(name), str(value))
    if settings.get("explain"):
        yield "--explain"
    for folder in part_of(settings, "models"):
        yield from ("--model", path_from_here(manifest, folder, output))
    if service:
        yield from ("--base-url", str(service))


def _names(settings: Mapping[str, Any], name: str) -> Iterator[str]:
    """Yield the names in a list; those of the default if there is no list."""
    found = settings.get(name)
    yield from map(str, found if isinstance(found, list) else getattr(Settings(), name))


def _is_default(manifest: Mapping[str, Any], source: str, output: Path) -> bool:
    files, limit = part_of(manifest, "files"), part_of(manifest, "settings").get("limit_rows")
    formats: list[Any] = [files.get("input_format"), files.get("output_format")]
    if not all(each in FORMATS for each in formats):
        return False
    usual = default_output(Path(source), formats[0], formats[1], limit)
    return usual.resolve() == output.resolve()
