"""``tender-pipeline run``: classify a table file."""

from __future__ import annotations

import functools
import json
import logging
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import click

from pipeline.answers import SYSTEMS, Matcher, System
from pipeline.classification import job
from pipeline.classification.manifest import Files
from pipeline.classification.sink import FileTarget, Target, default_output
from pipeline.classification.summary import Summary
from pipeline.cli.found_file import confirm_found_file
from pipeline.cli.json_errors import JsonErrors
from pipeline.cli.options import (
    Names,
    csv_options,
    log_to_stderr,
    option,
    say,
    settings_file,
)
from pipeline.cli.paid import buying, described, paid_options, paid_service, planned
from pipeline.cli.standard_streams import (
    StandardOutput,
    from_standard_input,
    to_standard_output,
)
from pipeline.cli.telling import exit_code, report, warn_of_few_words
from pipeline.engine import embedded
from pipeline.engine.model import ModelFolder, opened
from pipeline.paid import PaidService, Purchase
from pipeline.paid.identity import of_contents, of_files
from pipeline.progress import Progress, bar, log_lines
from pipeline.settings import ENGINES, FORMATS, Format, Settings, parse_systems
from pipeline.tables import Reader, format_of, open_reader, output_format_of

__all__ = ["plan", "run"]

log = logging.getLogger("pipeline")


@click.command(cls=JsonErrors, short_help="Classify a table and write it back with its codes.")
@click.argument("input_path", metavar="INPUT", type=click.Path(path_type=Path, allow_dash=True))
@option(
    "--output",
    type=click.Path(path_type=Path),
    help="Where the enriched table goes, - for standard output.  "
    "[default: outputs/<name>.classified.<format>, of standard input -]",
)
@option(
    "--systems",
    default=",".join(SYSTEMS),
    type=Names(),
    help="Classification systems, comma-separated.",
)
@option(
    "--text-column",
    "text_columns",
    multiple=True,
    type=Names(),
    default=["description"],
    help="A column that holds the text; repeat it to join several.",
)
@option("--top", default=1, help="Matches a row gets, 1 to 10.")
@option(
    "--min-confidence",
    type=float,
    help="A best match under this is marked for review.  [default: where 2 of 3 are right; with "
    "--base-url 0]",
)
@option(
    "--back-off",
    type=float,
    help="Instead of a match under this, give the deepest code above it that reaches it.",
)
@option("--jobs", default=1, help="Processes that the embedded engine uses.")
@option(
    "--engine",
    type=click.Choice(ENGINES),
    default="learned",
    help="Answer by learned models, or by the codes' titles alone.",
)
@option(
    "--model",
    "models",
    multiple=True,
    type=Names(),
    help="The folder of a learned model, see train; repeat it for several systems.",
)
@option("--explain", is_flag=True, help="Add the words that spoke for the best match.")
@option(
    "--fail-if-no-match",
    type=float,
    metavar="SHARE",
    help="Exit with 3 if more of a system's rows with text get no match, such as 0.5.",
)
@option("--column-prefix", default="", help="Put before the name of every new column.")
@option("--limit-rows", type=int, help="Read no more than this many rows: a sample.")
@option(
    "--overwrite",
    is_flag=True,
    help="Replace an output that this tool did not write, or a full table by a sample.",
)
@option("--input-format", type=click.Choice(FORMATS), help="Where the name does not tell.")
@option("--output-format", type=click.Choice(FORMATS), help="Where the name does not tell.")
@option("--delimiter", help="CSV: what separates the fields.  [default: found out]")
@option("--encoding", help="CSV: how characters are encoded.  [default: UTF-8, or the file's mark]")
@option("--line-end", type=click.Choice(["lf", "crlf", "cr"]), help="CSV: what ends a line.")
@option(
    "--quote-escape",
    type=click.Choice(["double", "backslash"]),
    default="double",
    help="CSV: how a quote inside quotes is written.",
)
@option("--no-header", is_flag=True, help="CSV: the first record is data; columns are 1, 2, ...")
@option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@option(
    "--config",
    type=click.Path(path_type=Path),
    is_eager=True,
    expose_value=False,
    callback=settings_file,
    help="A TOML file of settings.  [default: tender-pipeline.toml]",
)
@paid_options
def run(**values: Any) -> int:
    """Find procurement codes for every row of a table.

    INPUT is a CSV or Parquet file, or - for standard input. The same table is written back with
    the codes, their titles and confidence, and the costs in new columns.

    Settings come from options, then from environment variables (--top is TENDER_PIPELINE_TOP),
    then from the settings file.
    """
    return _with_table(values, _run)


def _plan(**values: Any) -> int:
    return _with_table(values, _show_plan)


plan = JsonErrors(
    "plan",
    params=run.params,
    callback=_plan,
    short_help="Say what a run would do and cost, and spend nothing.",
    help="Say what run, with the same options, would do and cost. It spends nothing.",
)


_Command: TypeAlias = "Callable[[_Table, PaidService | None, dict[str, Any]], int]"


@dataclass(frozen=True, slots=True)
class _Table:
    """What the options say of a table."""

    path: Path
    reader: Reader
    target: Target
    settings: Settings
    files: Files
    models: Mapping[System, ModelFolder]


def _with_table(values: dict[str, Any], command: _Command) -> int:
    log_to_stderr()
    confirm_found_file(click.get_current_context())
    models = opened(values["models"], parse_systems(values["systems"]))
    settings = Settings(
        systems=values["systems"],
        text_columns=values["text_columns"],
        top=values["top"],
        min_confidence=values["min_confidence"],
        back_off=values["back_off"],
        jobs=values["jobs"],
        column_prefix=values["column_prefix"],
        limit_rows=values["limit_rows"],
        models={str(model.path): model.sha256 for model in models.values()},
        engine=values["engine"],
        explain=values["explain"],
        fail_if_no_match=values["fail_if_no_match"],
    )
    if values["base_url"]:
        settings = settings.for_service()
    options = csv_options(values)
    service = paid_service(values)
    with _file(values["input_path"]) as path:
        reader = open_reader(path, settings.text_columns, options, values["input_format"])
        input_format = format_of(path, values["input_format"])
        target, output_format = _target(path, input_format, values)
        files = Files(input_format, output_format, values["overwrite"], options)
        return command(_Table(path, reader, target, settings, files, models), service, values)


def _run(table: _Table, service: PaidService | None, values: dict[str, Any]) -> int:
    log.info("%s: %s, %s", values["input_path"], ", ".join(table.settings.systems), _who(service))
    for system, model in table.models.items():
        log.info("%s: learned model %s", system, model.path)
    if service is None:
        engine = embedded(table.settings, table.models)
        summary = _job(table, engine, None, values)
    else:
        known_by = _identity(table, values["input_path"])
        with buying(service, table.settings, known_by, values["yes"]) as bought:
            summary = _job(table, bought.matcher, bought, values)
    text = json.dumps(summary.to_dict()) if values["as_json"] else str(summary)
    report(text, beside_the_table=isinstance(table.target, StandardOutput))
    return exit_code(summary, table.settings)


def _job(
    table: _Table, matcher: Matcher, bought: Purchase | None, values: dict[str, Any]
) -> Summary:
    return job.run(
        table.reader,
        matcher,
        table.target,
        table.settings,
        _progress(),
        values["input_path"],
        bought,
        table.files,
        values["partial"],
        functools.partial(warn_of_few_words, table.reader, table.settings),
    )


def _show_plan(table: _Table, service: PaidService | None, values: dict[str, Any]) -> int:
    seen = functools.partial(warn_of_few_words, table.reader, table.settings)
    if service is None:
        forecast = job.plan(table.reader, table.settings, None, seen)
        said = "embedded engine: offline and free"
    else:
        known_by = _identity(table, values["input_path"])
        with planned(service, table.settings, known_by) as bought:
            forecast = job.plan(table.reader, table.settings, bought, seen)
        said = described(service, forecast.purchase)
    say(json.dumps(forecast.to_dict()) if values["as_json"] else f"{forecast.table}\n{said}")
    return 0


def _who(service: PaidService | None) -> str:
    if service is None:
        return "embedded engine, offline and free"
    limit = "no limit" if service.limit is None else f"at most {service.limit}"
    key = "with a key" if service.api_key else "without a key (demo)"
    return f"{service.base_url} {key}, {limit}, ledger {service.ledger}"


def _identity(table: _Table, source: Path) -> str:
    """Return what a job is known by in the ledger.

    Standard input is "-" each time, wherever it is spooled; where the output has no name either
    the job is known by the table's contents.
    """
    if str(source) == "-" and table.target.path is None:
        return of_contents(table.settings, table.reader.batches())
    return of_files(table.settings, source, table.target.path)


def _target(
    path: Path, input_format: Format, values: dict[str, Any]
) -> tuple[FileTarget | StandardOutput, Format]:
    """Return where the output goes, and its format; from standard input to standard output."""
    output: Path | None = values["output"]
    output_format: Format | None = values["output_format"]
    if to_standard_output(values):
        output_format = output_format or input_format
        return StandardOutput(output_format), output_format
    limit_rows = values["limit_rows"]
    if output is None:
        output_format = output_format or input_format
        output = default_output(path, input_format, output_format, limit_rows)
    output_format = output_format_of(output, output_format)
    sample = limit_rows is not None
    return FileTarget(output, output_format, values["overwrite"], path, sample), output_format


def _file(path: Path) -> AbstractContextManager[Path]:
    return from_standard_input() if str(path) == "-" else nullcontext(path)


def _progress() -> Progress:
    return bar if sys.stderr.isatty() else log_lines
