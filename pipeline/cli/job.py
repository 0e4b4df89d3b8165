"""Runs or plans one job that the options of ``run`` describe; ``--help`` needs nothing of it."""

from __future__ import annotations

import json
import logging
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pyarrow as pa

from pipeline.answers import BatchAnswers
from pipeline.classification.cloud_sink import existing
from pipeline.classification.file_sink import temporary_writer
from pipeline.classification.job import Job, Reporter, Request
from pipeline.classification.manifest import other_input
from pipeline.classification.sink import Draft, Sink, default_output
from pipeline.classification.source import Source
from pipeline.classification.summary import COMPLETE, Summary
from pipeline.cli.options import of_fields
from pipeline.cli.output.console import columns, print_error, progress_display, say, warn, wrap
from pipeline.cli.output.metrics import Finished
from pipeline.cli.output.run import Examples, buyer_of, describe, print_summary, words_of
from pipeline.cli.process import after, print_no_more
from pipeline.cli.run_options import RunOptions, check_no_terms
from pipeline.errors import InputError, OutputError, PipelineError
from pipeline.files.cloud import Storage
from pipeline.files.paths import CloudPath
from pipeline.json_log import FIELDS
from pipeline.settings import Format
from pipeline.tables.formats import TABLE_FORMATS, format_of, output_format_of
from pipeline.tables.streams import local_table, spooled
from pipeline.tables.table import Batch, Reader

if TYPE_CHECKING:  # what buys is imported if there is a service
    from pipeline.cli.output.report import RunReport
    from pipeline.paid.service import PaidService


FREE = "embedded engine, offline and free"

log = logging.getLogger("pipeline")


@contextmanager
def from_standard_input(storage: Storage) -> Iterator[tuple[Path, str | None]]:
    """Copy standard input to a temporary file; errors call the file "Standard input".

    It yields the file of the table, and None because a stream has no version.

    Raises:
        InputError: standard input is closed.
    """
    if sys.stdin is None:
        raise InputError(
            "Standard input is closed.",
            "Send a table into the command (cat tenders.csv | ...), or give its path.",
        )
    with spooled(sys.stdin.buffer) as copy:
        try:
            with local_table(copy, storage) as table:
                yield table
        except PipelineError as error:
            error.message = error.message.replace(str(copy), "Standard input")
            raise


@dataclass(frozen=True)
class StandardOutput(Sink):
    """Standard output as a `pipeline.classification.sink.Sink`.

    What was written to a pipe cannot be taken back. So the table is written to a temporary file
    and sent when it is complete; a run that fails sends nothing. There is no manifest.
    """

    output_format: Format
    keeps_partial: bool = False
    path: None = field(default=None, init=False)

    def check(self) -> None:
        """Refuse a closed standard output, and binary formats on a terminal.

        Raises:
            OutputError: the table cannot go to standard output.
        """
        if sys.__stdout__ is None:
            raise OutputError(
                "Standard output is closed.", "Send it to a file or a command: > FILE, | COMMAND."
            )
        if TABLE_FORMATS[self.output_format].is_packed and sys.stdout.isatty():
            raise OutputError(
                f"A table of the format {self.output_format} cannot be shown on a terminal.",
                "Send it to a file (> FILE, --output PATH), or show CSV: --output-format csv.",
            )

    @contextmanager
    def draft(self, reader: Reader, new_fields: Sequence[pa.Field]) -> Iterator[Draft]:
        """Open a temporary file; see `pipeline.classification.sink.Sink.draft`.

        Raises:
            OutputError: the file cannot be written.
        """
        name = f"stdout.{self.output_format}"
        with temporary_writer(name, self.output_format, reader, new_fields) as opened:
            writer, temporary = opened
            yield Draft(writer, lambda _: _send(temporary))


def _send(table: Path) -> None:
    """Send a table; a reader that leaves early (``| head``) is no error."""
    try:
        with table.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    except OSError as error:
        print_no_more(error, "Free some space, or write to a file: --output PATH.")
        log.warning("Standard output was closed before the whole table was sent.")


def request_of(options: RunOptions) -> Request:
    """Return what the options ask of each job, once checked.

    Raises:
        PipelineError: an option is wrong.
    """
    service = options.service()
    if service is None:
        check_no_terms()
    buyer = None if service is None else buyer_of(service, options.yes)
    return Request.of(**of_fields(Request, options), buyer=buyer, warn=warn)


def service_of(request: Request) -> PaidService | None:
    """Return the paid service that answers; None for the embedded engine."""
    return None if request.buyer is None else cast("PaidService", request.buyer.service)


def run_job(options: RunOptions, request: Request, finished: Finished) -> int:
    """Run the job, pass on and print what it did, and return the exit code."""
    with open_job(options, request) as job:
        page = _page(job, options.report)
        width = None if options.as_json or options.to_standard_output else columns(sys.stdout)
        examples = Examples(request.settings.systems) if width else None
        output, source = job.sink.path, options.input_paths[0]
        if options.output is None and (other := other_input(output, source)) is not None:
            warn(f"{output}, made from {other}, is replaced. Keep both: --output PATH.")
        with after(lambda: "no output was written"):
            summary = run_and_log(job, page, examples)
        lost = _write_page(page, summary, options.report)
        finished(summary)
        words = words_of(summary, request.settings, None if lost else options.report)
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
            print_error(lost)
        share = request.settings.fail_if_no_match
        if (too_few := summary.too_few_matches(share)) and not summary.parked:
            print_error(too_few)
        return summary.exit_code(share) or (lost.exit_code if lost else COMPLETE)


def plan_job(options: RunOptions, request: Request) -> int:
    """Print what the job would do and cost."""
    with open_job(options, request) as job:
        planned, service = job.plan(warn), service_of(request)
        offer = FREE if service is None else describe(service, planned.purchase)
        words = wrap(f"{planned.rows_line}\n{offer}", sys.stdout)
        say(json.dumps(planned.to_dict()) if options.as_json else words)
    return COMPLETE


def run_and_log(
    job: Job, page: RunReport | None = None, examples: Examples | None = None
) -> Summary:
    """Log what will be done and by what, and do it.

    The page and the examples receive what the run does, and are shown later.

    Raises:
        PipelineError: see `pipeline.classification.job.Stages.run`.
    """
    settings, path, name = job.request.settings, str(job.source.path or "-"), job.source.name
    systems = ", ".join(settings.systems)
    answerer = _who_answers(service_of(job.request))
    started = {"event": "started", "input": path, "systems": systems}
    log.info("%s", f"{name}: {systems}, {answerer}", extra={FIELDS: started})
    for system, model in job.request.models.items():
        log.info("%s: learned model %s", system, model.path)
    observers = [each.observe for each in (page, examples) if each]

    def observe(batch: Batch, answers: BatchAnswers) -> None:
        for observe_batch in observers:
            observe_batch(batch, answers)

    reporter = Reporter(progress_display(), warn, observe)
    summary = job.run(replace(reporter, record=page.record) if page else reporter)
    if not summary.rows and summary.parked is None and settings.limit_rows != 0:
        log.warning("%s has no rows, so the output has none.", name)
    return summary


def _page(job: Job, path: Path | None) -> RunReport | None:
    """Return the page about the run, if one is asked for."""
    files, output, request = job.source.files, job.sink.path, job.request
    if path is None or files is None:
        return None
    from pipeline.cli.output.report import RunReport  # imports the templates' engine
    from pipeline.report import Collected

    before = existing(output, request.storage) if output else None
    collected = Collected(request.settings, request.models)
    return RunReport(path, collected, before, files)


def _write_page(page: RunReport | None, summary: Summary, path: Path | None) -> OutputError | None:
    """Write the page, if there is one; return why it cannot be written: the table is in place."""
    try:
        with after(lambda: "the output was written, but not the report"):
            if page and page.write(summary):
                log.info("report: %s", path)
    except OutputError as error:
        return OutputError(error.message, f"The table was written all the same. {error.hint}")
    return None


@contextmanager
def open_job(options: RunOptions, request: Request) -> Iterator[Job]:
    """Open the first table that the options name, and its sink."""
    source = options.input_paths[0]
    is_stream = str(source) == "-"
    table = (
        from_standard_input(request.storage) if is_stream else local_table(source, request.storage)
    )
    with table as (path, version):
        reader, input_format = request.reader(path), format_of(path, options.input_format)
        sink = _sink(path, input_format, options, request)
        if options.output is None:  # another was checked before
            options.check_apart(sink.path)
        page = str(options.report) if options.report else None
        files = replace(request.files(input_format, sink.output_format), report=page)
        # Standard input to standard output has no paths that the ledger could know the job by.
        named = None if is_stream and sink.path is None else source
        yield Job(request, Source(reader, named, files, version=version), sink)


def _sink(path: Path, input_format: Format, options: RunOptions, request: Request) -> Sink:
    source, output, output_format = options.input_paths[0], options.output, options.output_format
    if options.to_standard_output:
        return StandardOutput(output_format or input_format, options.partial)
    if output is None:
        output_format = output_format or input_format
        output = default_output(path, input_format, output_format, options.limit_rows)
    else:
        output_format = output_format_of(output, output_format, input_format)
    return request.sink(output, output_format, source if isinstance(source, CloudPath) else path)


def _who_answers(service: PaidService | None) -> str:
    """Return what answers, in words."""
    if service is None:
        return FREE
    key = "with a key" if service.api_key else "without a key"
    demo = " (demo)" if service.is_demo else ""
    return f"{service.name} {key}{demo}, {service.rate_limit}, ledger {service.ledger}"
