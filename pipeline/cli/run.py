"""``tender-pipeline run``: classify a table file."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from pipeline import job
from pipeline.answers import SYSTEMS
from pipeline.cli.options import Names, option, settings_file
from pipeline.engine import Engine
from pipeline.outputs import FileTarget, default_output
from pipeline.progress import Progress, bar, log_lines
from pipeline.report import Summary
from pipeline.settings import FORMATS, CsvOptions, Format, Settings, parse_systems
from pipeline.tables import format_of, open_reader, spooled

__all__ = ["run"]

COMPLETE, WITH_FAILED_ROWS = 0, 3

log = logging.getLogger("pipeline")


@click.command(short_help="Classify a table and write it back with its codes.")
@click.argument("input_path", metavar="INPUT", type=click.Path(path_type=Path, allow_dash=True))
@option(
    "--output",
    type=click.Path(path_type=Path),
    help="Where the enriched table goes.  [default: outputs/<name>.classified.<format>]",
)
@option("--systems", default=",".join(SYSTEMS), help="Classification systems, comma-separated.")
@option(
    "--text-column",
    "text_columns",
    multiple=True,
    type=Names(),
    default=["description"],
    help="A column that holds the text; repeat it to join several.",
)
@option("--top", default=1, help="Matches a row gets, 1 to 10.")
@option("--min-confidence", default=0.0, help="A best match under this is marked for review.")
@option("--jobs", default=1, help="Processes that the embedded engine uses.")
@option("--column-prefix", default="", help="Put before the name of every new column.")
@option("--limit-rows", type=int, help="Read no more than this many rows.")
@option("--overwrite", is_flag=True, help="Replace an output that this tool did not write.")
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
def run(**values: Any) -> int:
    """Find procurement codes for every row of a table.

    INPUT is a CSV or Parquet file, or - for standard input. The same table is written back with
    the codes, their titles and confidence, and the costs in new columns.

    Settings come from options, then from environment variables (--top is TENDER_PIPELINE_TOP),
    then from the settings file.
    """
    form = "%(message)s" if sys.stderr.isatty() else "%(asctime)s %(message)s"
    logging.basicConfig(level=logging.INFO, format=form, stream=sys.stderr)
    settings = Settings(
        systems=parse_systems(values["systems"]),
        text_columns=values["text_columns"],
        top=values["top"],
        min_confidence=values["min_confidence"],
        jobs=values["jobs"],
        column_prefix=values["column_prefix"],
        limit_rows=values["limit_rows"],
    )
    options = CsvOptions(
        delimiter=values["delimiter"],
        encoding=values["encoding"],
        line_end=values["line_end"],
        quote_escape=values["quote_escape"],
        header=not values["no_header"],
    )
    with _file(values["input_path"]) as path:
        summary = _classify(path, settings, options, values)
    click.echo(json.dumps(summary.to_dict()) if values["as_json"] else str(summary))
    return WITH_FAILED_ROWS if summary.failed else COMPLETE


def _classify(
    path: Path, settings: Settings, options: CsvOptions, values: dict[str, Any]
) -> Summary:
    reader = open_reader(path, settings.text_columns, options, values["input_format"])
    target = _target(path, format_of(path, values["input_format"]), values)
    systems = ", ".join(settings.systems)
    log.info("%s: %s, embedded engine, offline and free", values["input_path"], systems)
    engine = Engine(settings.systems, settings.top, settings.jobs)
    return job.run(reader, engine, target, settings, _progress(), source=values["input_path"])


def _target(path: Path, input_format: Format, values: dict[str, Any]) -> FileTarget:
    output: Path | None = values["output"]
    output_format: Format | None = values["output_format"]
    if output is None:
        output_format = output_format or input_format
        output = default_output(path, input_format, output_format)
    return FileTarget(output, format_of(output, output_format), values["overwrite"], path)


@contextmanager
def _file(path: Path) -> Iterator[Path]:
    if str(path) != "-":
        yield path
        return
    with spooled(sys.stdin.buffer) as copy:
        yield copy


def _progress() -> Progress:
    return bar if sys.stderr.isatty() else log_lines
