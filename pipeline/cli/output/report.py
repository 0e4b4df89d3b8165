"""Writes the page about a run, if one is asked for."""

from __future__ import annotations

import json
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
from pipeline.settings import FORMATS, CsvOptions, ExcelOptions, Files, Settings
from pipeline.tables import Batch, has_table_suffix, open_reader
from pipeline.wording import SETTINGS, option_name

USUAL: dict[str, Any] = json.loads(
    json.dumps({**asdict(Settings()), **asdict(CsvOptions()), **asdict(ExcelOptions())})
)
del USUAL["jobs"]
"""The settings of a run as a manifest has them, if nobody states any; without that for speed."""


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
    more = [("decisions", str(decisions))] if decisions else []
    variables: dict[str, str] = {}
    words: list[str] = []
    for name, value in dict.fromkeys([*_settings(manifest, output), *more]):
        if name in SETTINGS:
            variables[option_name(name)] = quote(value)
        elif value:
            words += [option_name(name), value]
        else:
            words.append(option_name(name))
    words += _files(manifest, source, output)
    command_words = command("run", in_shell(source), *map(quote, words))
    return " ".join([*map("=".join, variables.items()), command_words])


def _settings(manifest: Mapping[str, Any], output: Path) -> Iterator[tuple[str, str]]:
    """Yield each setting that is not usual, by the argument that states it; "" for a flag."""
    files, settings = part_of(manifest, "files"), part_of(manifest, "settings")
    parts = (part_of(files, "csv"), part_of(files, "excel"), settings)
    service, _, model = str(manifest.get("service") or "").partition("#")
    all_usual = USUAL | ({"min_confidence": 0.0} if service else {})  # see `Settings.for_service`
    for name, value in (each for part in parts for each in part.items() if each[0] in all_usual):
        usual = all_usual[name]
        if value in (None, usual):
            continue
        match value:
            case bool():
                yield "no_header" if name == "header" else name, ""
            case list() if isinstance(usual, list):
                listed = [",".join(map(str, value))] if name == "systems" else map(str, value)
                yield from ((name, each) for each in listed)
            case dict() if isinstance(usual, dict):
                yield from ((name, path_from_here(manifest, each, output)) for each in value)
            case str() | int() | float() if not isinstance(usual, list | dict):
                yield name, "tab" if value == "\t" else str(value)
    if service:
        yield "base_url", service
    if model:  # see `PaidService.endpoint`
        yield from (("language_model", unquote(model)), ("token_prices", "IN/OUT"))


def _files(manifest: Mapping[str, Any], source: str, output: Path) -> Iterator[str]:
    """Yield the options for the files of a run and their formats, where they are not usual."""
    files, limit = part_of(manifest, "files"), part_of(manifest, "settings").get("limit_rows")
    formats = (files.get(name) for name in ("input_format", "output_format"))
    of_input, of_output = (each if each in FORMATS else None for each in formats)
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
