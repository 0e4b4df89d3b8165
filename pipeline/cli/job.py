"""Runs or plans one job that the options of ``run`` describe; ``--help`` needs nothing of it."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.answers import BatchAnswers
from pipeline.classification import job
from pipeline.classification.cloud_sink import CloudSink, existing, manifests_at, sink_at
from pipeline.classification.file_sink import FileSink
from pipeline.classification.plan import Plan
from pipeline.classification.provenance import other_input
from pipeline.classification.sink import default_output
from pipeline.classification.source import Source
from pipeline.classification.summary import Summary
from pipeline.classification.text_columns import open_suggesting
from pipeline.cli.output.console import columns, complain, progress_display, say, warn, wrapped
from pipeline.cli.output.examples import Examples
from pipeline.cli.output.metrics import Finished
from pipeline.cli.output.run import COMPLETE, exit_code, print_summary, title_languages, words_of
from pipeline.cli.run_options import RunOptions
from pipeline.cli.signals import after
from pipeline.cli.standard_streams import StandardOutput, from_standard_input
from pipeline.cli.terms import Terms
from pipeline.errors import OutputError
from pipeline.file_options import Files, Format
from pipeline.files.cloud import Storage
from pipeline.files.paths import CloudPath
from pipeline.progress import FIELDS, Progress
from pipeline.purchases import NoPurchase, Purchase
from pipeline.tables import Batch, format_of, local_table, output_format_of

if TYPE_CHECKING:  # what buys is imported if there is a service, and the engine if there is none
    from pipeline.cli.output.report import RunReport
    from pipeline.paid.service import PaidService

__all__ = ["Job", "files_of", "opened_job", "plan_job", "run_job"]

log = logging.getLogger("pipeline")


def run_job(options: RunOptions, terms: Terms, finished: Finished) -> int:
    """Run the job, pass on and print what it did, and return the exit code."""
    with opened_job(options, terms) as this:
        page = this.page()
        width = None if options.as_json or options.to_standard_output else columns(sys.stdout)
        examples = Examples(terms.settings.systems) if width else None
        summary = this.run(page=page, examples=examples)
        lost = _reported(page, summary, options.report)
        finished(summary)
        words = words_of(summary, terms.settings, None if lost else options.report)
        if width and examples and not summary.parked:
            words = "\n".join([*examples.lines(width), "", words])
        print_summary(
            summary,
            json.dumps(summary.to_dict()) if options.as_json else words,
            as_json=options.as_json,
            quiet=options.quiet,
            beside_the_table=options.to_standard_output,
        )
        if lost:
            complain(lost)
        return exit_code(summary, terms.settings) or (lost.exit_code if lost else COMPLETE)


def plan_job(options: RunOptions, terms: Terms) -> int:
    """Print what the job would do and cost."""
    with opened_job(options, terms) as this:
        found = this.plan()
        words = wrapped(f"{found.rows_line}\n{_offer(terms.service, found)}", sys.stdout)
        say(json.dumps(found.to_dict()) if options.as_json else words)
    return COMPLETE


@dataclass(frozen=True, slots=True)
class Job:
    """One table, where its enriched form goes, and what to do with it."""

    source: Source
    sink: FileSink | CloudSink | StandardOutput
    terms: Terms
    options: RunOptions

    @property
    def name(self) -> str:
        """The table's name for people."""
        path = str(self.options.input_paths[0])
        return "standard input" if path == "-" else path

    def run(
        self,
        progress: Progress | None = None,
        page: RunReport | None = None,
        examples: Examples | None = None,
    ) -> Summary:
        """Classify the table; without a display of the progress, that of a command shows it.

        The page and the examples receive what the run does, and are shown later.

        Raises:
            PipelineError: see `pipeline.classification.job.run`.
        """
        self._announce()
        reporter = job.Reporter(progress or progress_display(), warn)
        if page:
            reporter = replace(reporter, record=page.record)
        observers = [each.observe for each in (page, examples) if each]

        def observe(batch: Batch, answers: BatchAnswers) -> None:
            for each in observers:
                each(batch, answers)

        reporter = replace(reporter, observe=observe)
        with self._purchase() as purchase:
            summary = job.run(self.source, self.sink, self.terms.settings, purchase, reporter)
        if not summary.rows and summary.parked is None and self.options.limit_rows != 0:
            log.warning("%s has no rows, so the output has none.", self.name)
        return summary

    def plan(self) -> Plan:
        """Say what `run` would do and cost.

        Raises:
            PipelineError: see `pipeline.classification.job.plan`.
        """
        with self._purchase(plan_only=True) as purchase:
            return job.plan(self.source, self.terms.settings, purchase, warn)

    def _announce(self) -> None:
        """Log what will be done and by what, and warn if another table's output is replaced."""
        terms, given = self.terms, self.options.input_paths[0]
        systems = ", ".join(terms.settings.systems)
        started = {"event": "started", "input": str(given), "systems": systems}
        words = f"{self.name}: {systems}, {_answerer(terms.service)}"
        log.info("%s", words, extra={FIELDS: started})
        if titles := title_languages(terms.settings):
            log.info("%s", titles)
        place = self.sink.path
        if self.options.output is None and (other := other_input(place, given)) is not None:
            warn(f"{place}, made from {other}, is replaced. Keep both: --output PATH.")
        for system, model in terms.models.items():
            log.info("%s: learned model %s", system, model.path)

    def page(self) -> RunReport | None:
        """Return the page about the run, if one is asked for."""
        path, files = self.options.report, self.source.files
        if path is None or files is None:
            return None
        from pipeline.cli.output.report import RunReport  # imports the templates' engine

        output = self.sink.path
        before = existing(output, self.terms.storage) if output else None
        return RunReport(path, self.terms.settings, before, files, self.terms.models)

    def _purchase(self, plan_only: bool = False) -> AbstractContextManager[Purchase]:
        terms = self.terms
        if terms.service is None:
            from pipeline.classification.classifier import Classifier

            matcher = Classifier.of(terms.settings, terms.models).matcher
            return nullcontext(NoPurchase(matcher, terms.decisions))
        from pipeline.cli.output.buying import open_purchase

        return open_purchase(
            terms.service,
            terms.settings,
            self.source.identity(terms.settings, self.sink.path),
            self.options.yes,
            plan_only=plan_only,
            decisions=terms.decisions,
            earlier=manifests_at(self.sink),
        )


def _reported(page: RunReport | None, summary: Summary, place: Path | None) -> OutputError | None:
    """Write the page, if there is one; return why it cannot be written: the table is in place."""
    try:
        with after("the output was written, but not the report"):
            if page and page.write(summary):
                log.info("report: %s", place)
    except OutputError as error:
        return OutputError(error.message, f"The table was written all the same. {error.hint}")
    return None


@contextmanager
def opened_job(options: RunOptions, terms: Terms) -> Iterator[Job]:
    """Open the first table that the options name, and its sink."""
    given = options.input_paths[0]
    is_stream = str(given) == "-"
    table = from_standard_input() if is_stream else local_table(given, terms.storage)
    with table as (path, version):
        reader = open_suggesting(
            path, terms.settings.text_columns, options.csv, options.input_format, options.excel
        )
        input_format = format_of(path, options.input_format)
        sink = _sink(path, input_format, options, terms.storage)
        files = files_of(input_format, sink.output_format, options)
        # Standard input to standard output has no paths that the ledger could know the job by.
        named = None if is_stream and sink.path is None else given
        yield Job(Source(reader, named, files, version=version), sink, terms, options)


def files_of(input_format: Format, output_format: Format, options: RunOptions) -> Files:
    """Return the formats of a job's files."""
    return Files(input_format, output_format, options.overwrite, options.csv, options.excel)


def _sink(
    path: Path, input_format: Format, options: RunOptions, storage: Storage
) -> FileSink | CloudSink | StandardOutput:
    if options.to_standard_output:
        return StandardOutput(options.output_format or input_format, options.partial)
    given, output, output_format = options.input_paths[0], options.output, options.output_format
    if output is None:
        output_format = output_format or input_format
        output = default_output(path, input_format, output_format, options.limit_rows)
    else:
        output_format = output_format_of(output, output_format, input_format)
    return sink_at(
        output,
        output_format,
        options.overwrite,
        given if isinstance(given, CloudPath) else path,
        sample=options.limit_rows is not None,
        keeps_partial=options.partial,
        storage=storage,
    )


def _offer(service: PaidService | None, found: Plan) -> str:
    if service is None:
        return "embedded engine: offline and free"
    from pipeline.cli.output.buying import described

    return described(service, found.purchase)


def _answerer(service: PaidService | None) -> str:
    if service is None:
        return "embedded engine, offline and free"
    key = "with a key" if service.api_key else "without a key"
    demo = " (demo)" if service.is_demo else ""
    return f"{service.name} {key}{demo}, {service.rate_limit}, ledger {service.ledger}"
