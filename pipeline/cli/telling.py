"""What a run tells besides its table: a warning before it, its summary and exit code after it."""

from __future__ import annotations

import functools
import logging
from contextlib import suppress

import click

from pipeline.classification.scan import Plan
from pipeline.classification.summary import Summary
from pipeline.classification.text_columns import few_words, first_rows
from pipeline.cli.options import say
from pipeline.errors import OutputError
from pipeline.settings import Settings
from pipeline.tables import Reader

__all__ = ["exit_code", "report", "warn_of_few_words"]

COMPLETE, WITH_FAILED_ROWS = 0, 3

log = logging.getLogger("pipeline")


def warn_of_few_words(reader: Reader, settings: Settings, found: Plan) -> None:
    """Say that the text columns hold hardly any words, if so."""
    sample = functools.partial(first_rows, reader)
    said = few_words(settings.text_columns, found.rows, found.worded, sample)
    if said is not None:
        click.echo(f"Warning: {said}", err=True)


def report(summary: str, beside_the_table: bool) -> None:
    """Print the summary; the output is in its place, so the job is done even if that fails."""
    if beside_the_table:
        with suppress(OSError):
            click.echo(summary, err=True)
        return
    try:
        say(summary)
    except OutputError as error:
        log.warning("%s", error.message)


def exit_code(summary: Summary, settings: Settings) -> int:
    """Return what a run exits with; that too many rows got no match is said first."""
    if summary.parked:
        return summary.parked.exit_code
    too_few = summary.too_few_matches(settings.fail_if_no_match)
    if too_few is not None:
        click.echo(f"{too_few.message}\n{too_few.hint}", err=True)
        return too_few.exit_code
    return WITH_FAILED_ROWS if summary.failed else COMPLETE
