"""``tender-pipeline run`` and ``plan``: classify a table file, or say what that would cost."""

from __future__ import annotations

from typing import Any

import click

from pipeline.cli.json_errors import JsonErrors
from pipeline.cli.run_options import RunOptions, run_options
from pipeline.cli.signals import leaving_at_once

__all__ = ["plan", "run"]


@click.command(cls=JsonErrors, short_help="Classify a table and write it back with its codes.")
@run_options
def run(**values: Any) -> int:
    """Find procurement codes for every row of a table.

    INPUT is a CSV or Parquet file, or - for standard input. The output is the same table with
    new columns: the codes, their titles and confidence, and the costs.

    Settings come from options, then from environment variables (--top is TENDER_PIPELINE_TOP),
    then from the settings file.
    """
    with leaving_at_once():
        from pipeline.cli.job import run_job
    return run_job(RunOptions(**values))


def _plan_command(**values: Any) -> int:
    with leaving_at_once():
        from pipeline.cli.job import plan_job
    return plan_job(RunOptions(**values))


plan = JsonErrors(
    "plan",
    params=run.params,
    callback=_plan_command,
    short_help="Show what a run would do and cost, and spend nothing.",
    help="Show what run, with the same options, would do and cost. It spends nothing.",
)
plan.writes_table = False
