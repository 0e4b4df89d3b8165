"""``tender-pipeline run`` and ``plan``: classify a table file, or say what that would cost."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from pipeline.answers import System
from pipeline.classification import job
from pipeline.classification.free import Free
from pipeline.classification.manifest import Files
from pipeline.classification.plan import purchase_to_plan
from pipeline.classification.sink import FileSink, default_output
from pipeline.classification.source import Source
from pipeline.cli.json_errors import JsonErrors
from pipeline.cli.output.buying import described, open_purchase
from pipeline.cli.output.console import log_to_stderr, progress_display, say
from pipeline.cli.output.run import exit_code, report, warn
from pipeline.cli.run_options import RunOptions, run_options
from pipeline.cli.settings_file import confirm_found_file
from pipeline.cli.standard_streams import StandardOutput, from_standard_input
from pipeline.engine import embedded
from pipeline.engine.model import ModelFolder, opened
from pipeline.paid import PaidService, Purchase
from pipeline.settings import Format, Settings, parse_systems
from pipeline.tables import format_of, open_reader, output_format_of

__all__ = ["plan", "run"]

log = logging.getLogger("pipeline")


@click.command(cls=JsonErrors, short_help="Classify a table and write it back with its codes.")
@run_options
def run(**values: Any) -> int:
    """Find procurement codes for every row of a table.

    INPUT is a CSV or Parquet file, or - for standard input. The output is the same table with
    new columns: the codes, their titles and confidence, and the costs.

    Settings come from options, then from environment variables (--top is TENDER_PIPELINE_TOP),
    then from the settings file.
    """
    return _with_job(RunOptions(**values), _run)


def _plan_command(**values: Any) -> int:
    return _with_job(RunOptions(**values), _plan)


plan = JsonErrors(
    "plan",
    params=run.params,
    callback=_plan_command,
    short_help="Show what a run would do and cost, and spend nothing.",
    help="Show what run, with the same options, would do and cost. It spends nothing.",
)
plan.writes_table = False


@dataclass(frozen=True, slots=True)
class _Job:
    """What the options say of a job.

    Attributes:
        source: the table.
        sink: where its enriched form goes.
        settings: what to do with it.
        models: the learned models that replace those of the package.
        service: how to buy; None for the embedded engine.
        options: the options themselves.
    """

    source: Source
    sink: FileSink | StandardOutput
    settings: Settings
    models: Mapping[System, ModelFolder]
    service: PaidService | None
    options: RunOptions

    @property
    def identity(self) -> str:
        return self.source.identity(self.settings, self.sink.path)

    @property
    def free(self) -> AbstractContextManager[Free]:
        return nullcontext(Free(embedded(self.settings, self.models)))


def _with_job(options: RunOptions, command: Callable[[_Job], int]) -> int:
    log_to_stderr()
    confirm_found_file(click.get_current_context())
    models = opened(options.models, parse_systems(options.systems))
    settings = options.settings(models)
    csv, service = options.csv, options.service()
    given = options.input_path
    with from_standard_input() if str(given) == "-" else nullcontext(given) as path:
        reader = open_reader(path, settings.text_columns, csv, options.input_format)
        input_format = format_of(path, options.input_format)
        sink = _sink(path, input_format, options)
        files = Files(input_format, sink.output_format, options.overwrite, csv)
        # Standard input to standard output has no paths that the ledger could know the job by.
        named = None if str(given) == "-" and sink.path is None else given
        return command(_Job(Source(reader, named, files), sink, settings, models, service, options))


def _sink(path: Path, input_format: Format, options: RunOptions) -> FileSink | StandardOutput:
    if options.to_standard_output:
        return StandardOutput(options.output_format or input_format, options.partial)
    output, output_format = options.output, options.output_format
    if output is None:
        output_format = output_format or input_format
        output = default_output(path, input_format, output_format, options.limit_rows)
    return FileSink(
        output,
        output_format_of(output, output_format),
        options.overwrite,
        path,
        sample=options.limit_rows is not None,
        keeps_partial=options.partial,
    )


def _run(this: _Job) -> int:
    systems = ", ".join(this.settings.systems)
    log.info("%s: %s, %s", this.options.input_path, systems, _answerer(this.service))
    for system, model in this.models.items():
        log.info("%s: learned model %s", system, model.path)
    purchase: AbstractContextManager[Purchase | Free] = (
        this.free
        if this.service is None
        else open_purchase(this.service, this.settings, this.identity, this.options.yes)
    )
    reporter = job.Reporter(progress_display(), warn)
    with purchase as bought:
        summary = job.run(this.source, this.sink, this.settings, bought, reporter)
    text = json.dumps(summary.to_dict()) if this.options.as_json else str(summary)
    report(text, beside_the_table=this.options.to_standard_output)
    return exit_code(summary, this.settings)


def _plan(this: _Job) -> int:
    purchase: AbstractContextManager[Purchase | Free] = (
        this.free
        if this.service is None
        else purchase_to_plan(this.service, this.settings, this.identity)
    )
    with purchase as planned:
        found = job.plan(this.source, this.settings, planned, warn)
    if this.options.as_json:
        say(json.dumps(found.to_dict()))
        return 0
    free = "embedded engine: offline and free"
    said = free if this.service is None else described(this.service, found.purchase)
    say(f"{found.rows_line}\n{said}")
    return 0


def _answerer(service: PaidService | None) -> str:
    if service is None:
        return "embedded engine, offline and free"
    limit = "no limit" if service.limit is None else f"at most {service.limit}"
    key = "with a key" if service.api_key else "without a key (demo)"
    return f"{service.base_url} {key}, {limit}, ledger {service.ledger}"
