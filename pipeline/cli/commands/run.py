"""``tender-pipeline run`` and ``plan``: classify a table file, or say what that would cost."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import click

from pipeline.cli.command import OptionGroups
from pipeline.cli.options import parameters
from pipeline.cli.process import leaving_at_once
from pipeline.cli.run_options import CONFIG, RunOptions
from pipeline.cli.settings_file import confirm_found_file, note_found_file, unknown_variables


class _Run(OptionGroups):
    """The command that writes a table."""

    def table_goes_to_stdout(self, ctx: click.Context) -> bool:
        """Return whether it writes it there."""
        return RunOptions(**ctx.params).to_standard_output


EXAMPLES = """\b
Examples:
  tender-pipeline run tenders.csv
  tender-pipeline run tenders.csv --text-column title --text-column description
  tender-pipeline run tenders.parquet --systems cpv,psc --top 3 --output coded.parquet
  tender-pipeline run tenders.csv --base-url https://api.example.com --max-cost 5
"""


@click.command(
    cls=_Run,
    params=[*parameters(RunOptions, with_variables=True), CONFIG],
    epilog=EXAMPLES,
    no_args_is_help=True,
)
def run(**values: Any) -> int:
    """Find procurement codes for every row of a table.

    INPUT is a CSV, Excel, JSON (lines or a list), OCDS or Parquet file, or - for standard input.
    The output is the same table with new columns: the codes, their titles and confidence, and the
    costs.

    Several files, a folder or a pattern such as 'data/*.csv' become a folder of the same layout.
    Each file is a job; the same command skips the files that are done.

    Inputs and outputs may be in a bucket: s3://bucket/tenders.csv, gs:// or abfs://.

    Settings come from options, then from environment variables (--top is TENDER_PIPELINE_TOP),
    then from the settings file.
    """
    with leaving_at_once():
        from pipeline.cli.many import run_all
        from pipeline.cli.output.metrics import MetricsFile
    options = _start(values)
    if options.metrics_file is None:
        return run_all(options)
    return MetricsFile.at(options.metrics_file, options.overwrite).measure(
        partial(run_all, options)
    )


def _plan_command(**values: Any) -> int:
    with leaving_at_once():
        from pipeline.cli.many import plan_all
    return plan_all(_start(values))


def _start(values: Mapping[str, Any]) -> RunOptions:
    """Start the log, and let a person confirm a settings file that was only found.

    That comes first: no file, not even the metrics, is written where such a file says.
    """
    from pipeline.cli.output.console import log_to_stderr, warn

    options = RunOptions(**values)
    log_to_stderr(options.quiet, options.log_format == "json")
    for unknown in unknown_variables(run.params):
        warn(unknown)
    confirm_found_file(click.get_current_context())
    note_found_file(click.get_current_context())
    options.check_apart(options.named_output)
    return options


plan = OptionGroups(
    "plan",
    params=run.params,
    callback=_plan_command,
    no_args_is_help=True,
    help="Show what run, with the same options, would do and cost. It spends nothing.",
)
