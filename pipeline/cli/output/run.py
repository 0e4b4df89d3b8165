"""The output of a run besides its table: warnings before, the summary and exit code after."""

from __future__ import annotations

import logging
from contextlib import suppress

import click

from pipeline.classification.summary import Summary
from pipeline.cli.output.console import say
from pipeline.errors import OutputError
from pipeline.settings import Settings

__all__ = ["COMPLETE", "WITH_FAILED_ROWS", "exit_code", "report", "warn"]

COMPLETE, WITH_FAILED_ROWS = 0, 3

log = logging.getLogger("pipeline")


def warn(text: str) -> None:
    """Print a warning to standard error."""
    click.echo(f"Warning: {text}", err=True)


def report(summary: str, beside_the_table: bool) -> None:
    """Print the summary; if that fails, the job is still done, because its output is in place."""
    if beside_the_table:
        with suppress(OSError):
            click.echo(summary, err=True)
        return
    try:
        say(summary)
    except OutputError as error:
        log.warning("%s", error.message)


def exit_code(summary: Summary, settings: Settings) -> int:
    """Return the exit code of a run; if too many rows have no match, print that first."""
    if summary.parked:
        return summary.parked.exit_code
    too_few = summary.too_few_matches(settings.fail_if_no_match)
    if too_few is not None:
        click.echo(f"{too_few.message}\n{too_few.hint}", err=True)
        return too_few.exit_code
    return WITH_FAILED_ROWS if summary.failed else COMPLETE
