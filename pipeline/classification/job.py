"""One job from beginning to end: read, plan, buy, write."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.answers import System
from pipeline.classification.cloud_sink import CloudSink
from pipeline.classification.columns import check_free, never_ok, new_fields
from pipeline.classification.file_sink import FileSink
from pipeline.classification.manifest import CellMarks, manifest
from pipeline.classification.sink import MemorySink, Sink
from pipeline.classification.source import Data, Source, given_path
from pipeline.classification.source import in_memory as table_in_memory
from pipeline.classification.summary import Plan, Summary
from pipeline.classification.text_columns import few_words, first_rows, suggesting
from pipeline.classification.write import Observe, RowCounts, write
from pipeline.decisions.decisions import NO_DECISIONS, Decisions
from pipeline.errors import LedgerError, PipelineError
from pipeline.files.cloud import Storage
from pipeline.files.paths import AnyPath, CloudPath, resolved
from pipeline.money import plain
from pipeline.progress import Progress, silent
from pipeline.purchases import IN_MEMORY, Buyer, Estimate, NoPurchase, Parked, Purchase
from pipeline.settings import CsvOptions, ExcelOptions, Files, Format, Settings
from pipeline.tables.formats import format_of, open_reader, output_format_of
from pipeline.tables.streams import local_table
from pipeline.tables.table import Batch, Reader, check_unchanged

if TYPE_CHECKING:  # a purchase needs no engine
    from pipeline.engine.model import ModelFolder


CHANGED = "The input changed while it was being read; no output was written."

KEPT = " What was bought is kept and is not paid for again."
"""What a job that ends without a summary says of its answers."""


def ignore(*_: object) -> None:
    """Report to nobody."""


@dataclass(frozen=True, slots=True)
class Reporter:
    """Reports a job's progress and warnings to its caller.

    Attributes:
        progress: shows how many rows have been written.
        warn: receives a warning about the table, before anything is bought.
        observe: receives each batch that is written, and its answers.
        record: receives the manifest once the output is in place; it is empty for one in memory.
    """

    progress: Progress = silent
    warn: Callable[[str], None] = ignore
    observe: Observe = ignore
    record: Callable[[Mapping[str, Any]], None] = ignore


SILENT = Reporter()

log = logging.getLogger(__name__)


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

    @classmethod
    def of(
        cls,
        settings: Settings,
        models: Any,
        decisions: Any,
        buyer: Buyer | None,
        warn: Callable[[str], None],
        **others: Any,
    ) -> Request:
        """Return what is asked with learned models and files of decisions, which are checked.

        Args:
            settings: the settings, without the two.
            models: the folders of the models.
            decisions: the paths of the files.
            buyer: see `Request`, like the others.
            warn: receives a warning about any of these.
            others: the other attributes.

        Raises:
            SettingsError: something is wrong, or not for a paid service.
            InputError: a file of decisions cannot be read.
        """
        reviewed = NO_DECISIONS
        folders: Mapping[System, ModelFolder] = {}
        if _is_given(decisions):
            from pipeline.classification.corrections import decisions_in

            reviewed = decisions_in(decisions, warn, settings.text_columns)
            settings = replace(settings, decisions=reviewed.files)
        if _is_given(models):
            from pipeline.engine.model import open_models

            folders, checksums = open_models(models, settings.systems)
            settings = replace(settings, models=checksums)
            for line in never_ok(settings):
                warn(line)
        if buyer is not None:
            settings = settings.for_service()
        return cls(settings, folders, reviewed, buyer, **others)

    def files(self, input_format: Format, output_format: Format) -> Files:
        """Return the formats of a job's files."""
        return Files(input_format, output_format, self.overwrite, self.csv, self.excel)

    def reader(self, path: Path) -> Reader:
        """Open a table.

        Raises:
            InputError: it cannot be read, or lacks a text column.
        """
        options = self.csv, self.input_format, self.excel
        with suggesting(lambda: first_rows(open_reader(path, (), *options))):
            return open_reader(path, self.settings.text_columns, *options)

    def sink(self, output: AnyPath, output_format: Format, source: AnyPath) -> FileSink | CloudSink:
        """Return the sink for a file or an object, made from the given input."""
        sample = self.settings.limit_rows is not None
        options = self.overwrite, source, sample, self.partial
        if isinstance(output, CloudPath):
            return CloudSink(output, output_format, self.storage, *options)
        return FileSink(output, output_format, *options)

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
        path_given = given_path(data)
        with local_table(path_given, self.storage) as (path, version):
            reader = self.reader(path)
            if output is None:
                yield Job(self, Source(reader, path_given, version=version), in_memory)
                return
            input_format = format_of(path, self.input_format)
            output_format = output_format_of(output, self.output_format, input_format)
            files = self.files(input_format, output_format)
            sink = self.sink(output, output_format, path_given)
            yield Job(self, Source(reader, path_given, files, version=version), sink)


def _is_given(paths: Any) -> bool:
    """Return whether an argument is not its default, (); an array has no truth value."""
    return not isinstance(paths, tuple) or bool(paths)


@dataclass(frozen=True, slots=True)
class Job:
    """One table, where its enriched form goes, and what is asked of it."""

    request: Request
    source: Source
    sink: Sink

    def run(self, reporter: Reporter) -> Summary:
        """Classify the table.

        Raises:
            PipelineError: see `Stages.run`.
        """
        with self._purchase() as purchase:
            return Stages(self.source, self.sink, self.request.settings, purchase, reporter).run()

    def plan(self, warn: Callable[[str], None] = ignore) -> Plan:
        """Say what `run` would do and cost.

        Raises:
            PipelineError: see `Stages.plan`.
        """
        with self._purchase(plan_only=True) as purchase:
            return Stages(
                self.source, self.sink, self.request.settings, purchase, Reporter(warn=warn)
            ).plan()

    def _purchase(self, plan_only: bool = False) -> AbstractContextManager[Purchase]:
        request = self.request
        if request.buyer is None:
            from pipeline.engine import Engine

            engine = Engine.of(request.settings, request.models)
            return nullcontext(NoPurchase(engine, request.decisions))
        return request.buyer.open(
            request.settings,
            self.source.identity(request.settings, self.sink.path),
            request.decisions,
            self.sink.manifests(),
            plan_only=plan_only,
        )


@dataclass(frozen=True, slots=True)
class Stages:
    """The stages of a job, which `run` joins."""

    source: Source
    sink: Sink
    settings: Settings
    purchase: Purchase
    reporter: Reporter = SILENT
    started: float = field(default_factory=time.monotonic)

    def run(self) -> Summary:
        """Run a job: read the table, plan, buy the missing answers, write the table with its codes.

        The table is read twice: the first pass plans, and the second writes. The cost of a job is
        known only after its last row, and a damaged row must be found before money is spent.

        Answers are parsed twice, too. When an answer arrives, it is parsed to get its price and to
        check that it is valid, and the ledger stores it unchanged. When its row is written, the
        matcher parses it again from the ledger. So no answer is held in memory, a killed run loses
        none, and ``--top`` and ``--min-confidence`` also apply to answers that were bought before.

        Returns:
            What the job did; ``parked`` says why a run stopped early.

        Raises:
            InputError: the table cannot be read to its end; nothing was written.
            InputChangedError: the table changed while the job ran; nothing was written.
            OutputError: the output may not or cannot be written.
            SettingsError: the table already has columns with the names of the new ones.
            LedgerError: the ledger cannot be used, or another run buys with the same key.
        """
        self._check_writable()
        batches = self.source.reader.batches(self.settings.limit_rows)
        planned = self._plan(self.sink.checked(batches))
        self._describe(planned.rows)
        with self._accounting():
            parked = self._buy(planned.purchase)
            if parked is None:
                summary = self._write(self.sink, planned)
                self._close()
                return summary
            if self.sink.keeps_partial:
                return self._write(self.sink.partial, planned, parked)
            return self._stopped(parked)

    def plan(self) -> Plan:
        """Read the table once and return what a job will do and buy, without spending anything.

        Raises:
            InputError: the table cannot be read to its end.
            SettingsError: the table already has columns with the names of the new ones.
            LedgerError: the ledger cannot be used.
        """
        check_free(self.source.names, self.settings)
        return self._plan(self.source.reader.batches(self.settings.limit_rows))

    def _plan(self, batches: Iterable[Batch]) -> Plan:
        source, settings = self.source, self.settings
        counted = Plan.of(self.purchase.record(batches))
        if warning := few_words(settings.text_columns, counted.rows, counted.worded, source.sample):
            self.reporter.warn(warning)
        if source.left_out:
            log.info("%s: left out: %s", source.name, source.left_out)
        return replace(counted, purchase=self.purchase.estimate())

    def _check_writable(self) -> None:
        """Refuse what would fail at the end, before any work is done."""
        check_free(self.source.names, self.settings)
        self.sink.check()
        if self.sink.keeps_partial and self.purchase.base_url:
            self.sink.partial.check()

    def _describe(self, rows: int) -> None:
        """Note the table for the list of open jobs."""
        streams = "standard input", "standard output"
        if self.source.files is None:
            streams = IN_MEMORY, IN_MEMORY
        table, output = map(_describe_path, (self.source.path, self.sink.path), streams)
        self.purchase.describe(table, output, rows)

    @contextmanager
    def _accounting(self) -> Iterator[None]:
        """Log what the job has paid if an error or an interrupt ends it: it has no summary then.

        After an error, the ledger is also named beside the output, which may not be written.
        """
        try:
            yield
        except BaseException as error:
            is_kept = not isinstance(error, LedgerError)  # which says what became of the answers
            with suppress(LedgerError):  # the error that ends the job is more important
                if (paid := self.purchase.paid()) and paid.attempts:
                    log.warning("%s%s", paid.so_far, KEPT if is_kept else "")
            if is_kept and isinstance(error, PipelineError):
                self._note_ledger()
            raise

    def _buy(self, estimate: Estimate) -> Parked | None:
        """Buy the missing answers; return why that stopped before its end, if it did."""
        if not estimate.to_buy:
            return None
        with self.sink.draft(self.source.reader, new_fields(self.settings)) as draft:
            draft.writer.abort()  # do not buy answers that cannot be written
        batches = self.source.reader.batches(self.settings.limit_rows)
        return self.purchase.buy(batches, estimate, self._note_ledger)

    def _write(self, sink: Sink, planned: Plan, parked: Parked | None = None) -> Summary:
        """Write the table with its codes, and put it in place with its manifest."""
        source, settings, purchase = self.source, self.settings, self.purchase
        marks = None if sink.path is None else CellMarks()
        with sink.draft(source.reader, new_fields(settings)) as draft:
            with self.reporter.progress(planned.rows) as advance:
                tally = write(
                    source.reader.batches(settings.limit_rows),
                    purchase.matcher,
                    draft.writer,
                    settings,
                    advance,
                    self.reporter.observe,
                    purchase.decisions,
                    marks,
                )
            check_unchanged(source.reader, CHANGED)
            summary = self._summary(tally, parked, sink.path, draft.writer.replaced_characters)
            draft.writer.close({"tender_pipeline.cost_usd": plain(summary.cost_usd)})
            record: dict[str, Any] = {}
            if marks is not None:  # there is no manifest beside a table in memory
                bought = purchase.base_url, purchase.ledger_entry()
                record = manifest(source, settings, planned, summary, *bought, marks)
            draft.commit(record)
        self.reporter.record(record)
        return summary

    def _note_ledger(self) -> None:
        """Name the ledger beside an output file, by which a later run misses it.

        That comes before most of the money is spent: a run that is killed cannot do it any more.
        """
        if self.sink.path is None:
            return
        try:
            if entry := self.purchase.parked_entry():
                self.sink.note(entry)
        except PipelineError as error:  # why the run parked is more important
            log.warning("The manifest does not name the ledger: %s", error.message)

    def _close(self) -> None:
        """Note that the complete table is in place, which makes an incomplete one outdated."""
        self.purchase.close_job()
        if self.purchase.base_url:
            self.sink.partial.discard()

    def _stopped(self, parked: Parked) -> Summary:
        """Return what a job has done that writes no table."""
        self._note_ledger()
        return self._summary(RowCounts.of(self.settings.systems), parked)

    def _summary(
        self,
        tally: RowCounts,
        parked: Parked | None,
        output: AnyPath | None = None,
        replaced: int = 0,
    ) -> Summary:
        paid = self.purchase.paid()
        return Summary(
            rows=tally.rows,
            systems=tally.systems,
            cost_usd=paid.confirmed_usd if paid else tally.cost_usd,
            seconds=time.monotonic() - self.started,
            output=output,
            replaced_characters=replaced,
            to_check=tally.to_check,
            paid=paid,
            parked=parked,
            ledger=self.purchase.ledger,
        )


def _describe_path(path: AnyPath | None, without_path: str) -> str:
    return without_path if path is None or str(path) == "-" else str(resolved(path))
