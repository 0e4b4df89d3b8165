"""What is asked of jobs, whatever their tables: made once, and passed on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.answers import System
from pipeline.classification import job
from pipeline.classification.cloud_sink import CloudSink, manifests_at
from pipeline.classification.file_sink import FileSink
from pipeline.classification.job import Reporter, ignore
from pipeline.classification.plan import Plan
from pipeline.classification.sink import MemorySink, Sink
from pipeline.classification.source import Data, Source, given_path
from pipeline.classification.source import in_memory as table_in_memory
from pipeline.classification.summary import Summary
from pipeline.classification.text_columns import open_suggesting
from pipeline.decisions.merged import NO_DECISIONS, Decisions
from pipeline.files.cloud import Storage
from pipeline.files.paths import AnyPath, CloudPath
from pipeline.purchases import Buyer, NoPurchase, Purchase
from pipeline.settings import CsvOptions, ExcelOptions, Files, Format, Settings
from pipeline.tables.formats import format_of, output_format_of
from pipeline.tables.streams import local_table
from pipeline.tables.table import Reader

if TYPE_CHECKING:  # a purchase needs no engine
    from pipeline.engine.model import ModelFolder


@dataclass(frozen=True)
class Request:
    """What is asked of each job.

    Attributes:
        settings: the settings.
        models: the learned models that answer in place of the package's.
        decisions: what people decided about texts.
        buyer: buys the answers; None for the embedded engine, offline and free.
        csv: the dialect of CSV files; None in it means "detected".
        excel: where the table is in a workbook; None in it means "detected".
        input_format: the format of the inputs; None if their names show it.
        output_format: the format of the outputs; None if their names show it.
        overwrite: whether an output that this tool did not write may be replaced.
        partial: whether a job that stops early writes the table so far.
        storage: access to buckets.
    """

    settings: Settings
    models: Mapping[System, ModelFolder] = field(default_factory=dict)
    decisions: Decisions = NO_DECISIONS
    buyer: Buyer | None = None
    csv: CsvOptions = field(default_factory=CsvOptions)
    excel: ExcelOptions = field(default_factory=ExcelOptions)
    input_format: Format | None = None
    output_format: Format | None = None
    overwrite: bool = False
    partial: bool = False
    storage: Storage = field(default_factory=Storage)

    def files(self, input_format: Format, output_format: Format) -> Files:
        """Return the formats of a job's files."""
        return Files(input_format, output_format, self.overwrite, self.csv, self.excel)

    def reader(self, path: Path) -> Reader:
        """Open a table.

        Raises:
            InputError: it cannot be read, or lacks a text column.
        """
        columns = self.settings.text_columns
        return open_suggesting(path, columns, self.csv, self.input_format, self.excel)

    def sink(self, output: AnyPath, output_format: Format, given: AnyPath) -> FileSink | CloudSink:
        """Return the sink for a file or an object, made from the given input."""
        sample = self.settings.limit_rows is not None
        more = self.overwrite, given, sample, self.partial
        if isinstance(output, CloudPath):
            return CloudSink(output, output_format, self.storage, *more)
        return FileSink(output, output_format, *more)

    @contextmanager
    def open(self, data: Data, output: AnyPath | None = None) -> Iterator[Job]:
        """Open the job of a table: in memory, or in a file or object; without an output, to memory.

        Raises:
            PipelineError: the data is not a table, or it cannot be read.
        """
        in_memory = MemorySink(keeps_partial=self.partial)
        if not isinstance(data, str | PathLike):
            yield Job(self, table_in_memory(data, self.settings), in_memory)
            return
        given = given_path(data)
        with local_table(given, self.storage) as (path, version):
            reader = self.reader(path)
            if output is None:
                yield Job(self, Source(reader, given, version=version), in_memory)
                return
            input_format = format_of(path, self.input_format)
            output_format = output_format_of(output, self.output_format, input_format)
            files = self.files(input_format, output_format)
            sink = self.sink(output, output_format, given)
            yield Job(self, Source(reader, given, files, version=version), sink)


@dataclass(frozen=True, slots=True)
class Job:
    """One table, where its enriched form goes, and what is asked of it."""

    request: Request
    source: Source
    sink: Sink

    def run(self, reporter: Reporter) -> Summary:
        """Classify the table.

        Raises:
            PipelineError: see `pipeline.classification.job.run`.
        """
        with self._purchase() as purchase:
            return job.run(self.source, self.sink, self.request.settings, purchase, reporter)

    def plan(self, warn: Callable[[str], None] = ignore) -> Plan:
        """Say what `run` would do and cost.

        Raises:
            PipelineError: see `pipeline.classification.job.plan`.
        """
        with self._purchase(plan_only=True) as purchase:
            return job.plan(self.source, self.request.settings, purchase, warn)

    def _purchase(self, plan_only: bool = False) -> AbstractContextManager[Purchase]:
        request = self.request
        if request.buyer is None:
            from pipeline.classification.classifier import engine_for

            matcher = engine_for(request.settings, request.models)
            return nullcontext(NoPurchase(matcher, request.decisions))
        return request.buyer.open(
            request.settings,
            self.source.identity(request.settings, self.sink.path),
            request.decisions,
            manifests_at(self.sink),
            plan_only=plan_only,
        )
