"""The output of a run besides its table: warnings before, the summary and exit code after."""

from __future__ import annotations

import logging
import sys
from contextlib import suppress
from pathlib import Path

import click

from pipeline.classification.summary import Summary
from pipeline.cli.output.complaints import columns, complain, wrapped
from pipeline.cli.output.console import say
from pipeline.cli.output.json_log import is_json
from pipeline.errors import OutputError
from pipeline.progress import FIELDS
from pipeline.settings import Settings

__all__ = ["COMPLETE", "WITH_FAILED_ROWS", "exit_code", "report", "words_of"]

COMPLETE, WITH_FAILED_ROWS = 0, 3

log = logging.getLogger("pipeline")


def report(
    summary: Summary | None, text: str, *, as_json: bool, quiet: bool, beside_the_table: bool
) -> None:
    """Print a summary; if that fails, the job is still done, because its output is in place.

    Args:
        summary: the summary; None if no job did anything.
        text: the same as text.
        as_json: whether the text is JSON, which is printed in any case.
        quiet: whether to print only why the job stopped, if it did.
        beside_the_table: whether standard output has the table.
    """
    if summary and is_json():
        state = "stopped" if summary.parked else "finished"
        log.info(state, extra={FIELDS: {"event": state, "summary": summary.to_dict()}})
    if quiet and not as_json:
        if summary and summary.parked:
            complain(summary.parked)
    elif beside_the_table:
        with suppress(OSError):
            click.echo(text, err=True)
    else:
        try:
            say(text)
        except OutputError as error:
            log.warning("%s", error.message)


def words_of(summary: Summary, page: Path | None = None) -> str:
    """Return a summary for people, as wide as their terminal, with what to do next.

    Args:
        summary: the summary.
        page: the report of the run; None if there is none.
    """
    text = summary.text(columns(sys.stdout))
    if summary.to_check and summary.parked is None:
        rows = "1 row has" if summary.to_check == 1 else f"{summary.to_check:,} rows have"
        text += (
            f"\nto check: {rows} a status that is not ok; {page or '--report FILE.html'} shows them"
        )
    return wrapped(text, sys.stdout)


def exit_code(summary: Summary, settings: Settings) -> int:
    """Return the exit code of a run; if too many rows have no match, print that first."""
    if summary.parked:
        return summary.parked.exit_code
    too_few = summary.too_few_matches(settings.fail_if_no_match)
    if too_few is not None:
        complain(too_few)
        return too_few.exit_code
    return WITH_FAILED_ROWS if summary.failed else COMPLETE
