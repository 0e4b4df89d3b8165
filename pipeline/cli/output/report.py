"""Writes the page about a run, if one is asked for."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Any
from urllib.parse import unquote

from pipeline.answers import BatchAnswers
from pipeline.classification.cloud_sink import ExistingObject
from pipeline.classification.provenance import (
    ExistingFile,
    part_of,
    path_from_here,
    texts_of_output,
    written_by_us,
)
from pipeline.classification.sink import default_output
from pipeline.classification.summary import Summary
from pipeline.errors import PipelineError
from pipeline.quoting import command, in_shell
from pipeline.report import Changes, Collected, page, page_file
from pipeline.settings import FORMATS, CsvOptions, Files, Settings
from pipeline.tables import Batch, has_table_suffix, open_reader
from pipeline.wording import SETTINGS, option_name

SINGLE = ("top", "min_confidence", "roll_up", "column_prefix", "limit_rows", "engine", "language")
"""The settings whose options take one value."""

DIALECT = ("delimiter", "encoding", "line_end", "quote_escape", "sheet", "header_row")
"""What describes a table file and takes one value."""

USUAL = (CsvOptions().quote_escape,)


def rerun_command(manifest: Mapping[str, Any], output: Path, decisions: Path | None = None) -> str:
    """Return the command of the run that wrote an output, as its manifest describes it.

    Anybody may have changed the manifest. Options for buying and for speed are left out.

    Args:
        manifest: the manifest.
        output: the output.
        decisions: one more file of decisions.
    """
    given = str(part_of(manifest, "input").get("path") or "INPUT")
    source = path_from_here(manifest, given, output)
    files = part_of(manifest, "files")
    dialect = _dialect(files)
    variables = [
        f"{option_name(each)}={quote(dialect.pop(each))}" for each in SETTINGS if each in dialect
    ]
    words = [word for name, value in dialect.items() for word in (option_name(name), value)]
    words += ["--no-header"] if part_of(files, "csv").get("header") is False else []
    words += _options(manifest, output)
    words += _file_options(manifest, source, output)
    decided = part_of(part_of(manifest, "settings"), "decisions")
    before = {path_from_here(manifest, each, output) for each in decided}
    for file in sorted({*before, str(decisions)} if decisions else before):
        words += ["--decisions", file]
    return " ".join([*variables, command("run", in_shell(source), *map(quote, words))])


def _dialect(files: Mapping[str, Any]) -> dict[str, str]:
    """Return how the run read its table, where that is not usual."""
    given = [*part_of(files, "csv").items(), *part_of(files, "excel").items()]
    stated = {name: value for name, value in given if value not in (None, *USUAL)}
    found = {name: str(stated[name]) for name in DIALECT if name in stated}
    return {name: "tab" if value == "\t" else value for name, value in found.items()}


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
        address, _, model = str(service).partition("#")  # see `PaidService.endpoint`
        yield from ("--base-url", address)
        if model:
            yield from ("--language-model", unquote(model), "--token-prices", "IN/OUT")


def _names(settings: Mapping[str, Any], name: str) -> Iterator[str]:
    """Yield the names in a list; those of the default if there is no list."""
    found = settings.get(name)
    yield from map(str, found if isinstance(found, list) else getattr(Settings(), name))


def _file_options(manifest: Mapping[str, Any], source: str, output: Path) -> Iterator[str]:
    """Yield the options for the files of a run and their formats, where they are not usual."""
    files, limit = part_of(manifest, "files"), part_of(manifest, "settings").get("limit_rows")
    of_input, of_output = (
        each if each in FORMATS else None
        for each in map(files.get, ("input_format", "output_format"))
    )
    if of_input and not has_table_suffix(Path(source), of_input):
        yield from ("--input-format", of_input)
    usual = of_input and default_output(Path(source), of_input, of_input, limit)
    if not usual or usual.resolve() != output.resolve():
        yield from ("--output", str(output))
        if of_output and not has_table_suffix(output, of_output):
            yield from ("--output-format", of_output)
    if report := files.get("report"):
        yield from ("--report", str(report))


log = logging.getLogger("pipeline")


class RunReport:
    """Collects what a run does, and writes the page about it at the end.

    `before` is the output of the run before, with its manifest.

    Raises:
        OutputError: the page cannot be written there.
    """

    def __init__(
        self,
        path: Path,
        collected: Collected,
        before: ExistingFile | ExistingObject | None,
        files: Files,
    ) -> None:
        self._file = page_file(path)
        self._file.check(files.overwrite)
        found = before.manifest if before else {}
        self._previous = found if "finished" in found else {}  # it may only name a ledger
        self._manifest: Mapping[str, Any] | None = None
        self._collected = collected
        self._open_changes = partial(_changes, before, files, collected.settings)
        self._changes: Changes | None = None

    def observe(self, batch: Batch, answers: BatchAnswers) -> None:
        """Receive a batch of rows; the output before is still in place then."""
        if not self._collected.rows:
            self._changes = self._open_changes()
        self._collected.add(batch, answers)
        if self._changes is not None:
            self._changes.add(self._collected.numbers, batch.texts, answers)

    def record(self, manifest: Mapping[str, Any]) -> None:
        """Receive the record of the run."""
        self._manifest = manifest

    def write(self, summary: Summary) -> bool:
        """Write the page; return False if the run wrote no table to report on.

        Raises:
            OutputError: it cannot be written; the table is in place all the same.
        """
        if self._manifest is None:
            return False
        compared = self._changes.end() if self._changes else None
        self._file.write(page(self._collected, summary, self._manifest, self._previous, compared))
        return True


def _changes(
    before: ExistingFile | ExistingObject | None, files: Files, settings: Settings
) -> Changes | None:
    """Return the rows of the output before; None if there is no file that this tool wrote."""
    if not isinstance(before, ExistingFile):  # an object would have to be read once more
        return None
    output = before.path
    try:
        if not output.is_file() or not written_by_us(output):
            return None
        csv, excel = files.to_read_output
        texts = texts_of_output(settings.text_columns, files.input_format, files.output_format)
        reader = open_reader(output, texts, csv, files.output_format, excel)
        return Changes(reader, settings)
    except (PipelineError, OSError) as error:
        log.info("The report does not compare rows with the last run: %s", error)
        return None
