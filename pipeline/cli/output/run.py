"""The output of a run besides its table: notes before, the summary and the exit code after."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from pipeline.answers import BANDS, MEASURED, OK_MEASURED
from pipeline.classification.summary import Summary
from pipeline.cli.output.console import Output, columns, print_error, say, wrap
from pipeline.errors import OutputError
from pipeline.json_log import FIELDS
from pipeline.quoting import command, visible
from pipeline.settings import Settings

COMMAND = "next: tender-pipeline"
"""The beginning of the line with a command, which is not wrapped, so that it can be copied."""

OWNED = "(answers that you own are not bought again: their rows then cost 0)"
"""What a second run of a job that is done changes: the costs in the output are those of a job."""

log = logging.getLogger("pipeline")


def print_summary(
    summary: Summary | None, text: str, *, as_json: bool, quiet: bool, beside_the_table: bool
) -> None:
    """Print a summary; if that fails, the job is still done, because its output is in place.

    `text` is the summary as text or JSON; JSON is printed in any case. If it is quiet, only why the
    job stopped is printed. If standard output has the table, the text goes to standard error.
    """
    if summary and Output.now().form == "json":
        state = "stopped" if summary.parked else "finished"
        log.info(state, extra={FIELDS: {"event": state, "summary": summary.to_dict()}})
    if quiet and not as_json:
        if summary and summary.parked:
            print_error(summary.parked)
    elif beside_the_table:
        click.echo(visible(text), err=True)
    else:
        try:
            say(text)
        except OutputError as error:
            log.warning("%s", error.message)


def words_of(summary: Summary, settings: Settings, page: Path | None = None) -> str:
    """Return a summary for people, as wide as their terminal, with what to do next."""
    text = summary.text(columns(sys.stdout), [*_worth(summary, settings)])
    lines = [text, *_next(summary, page)]
    return "\n".join(line if line.startswith(COMMAND) else wrap(line, sys.stdout) for line in lines)


def _worth(summary: Summary, settings: Settings) -> Iterator[str]:
    """Yield what the bands mean, if that is known of what answered."""
    if not any(any(figures.bands.values()) for figures in summary.systems.values()):
        return
    if summary.paid:
        yield "sure, likely, doubtful: by the confidence that the service states"
    elif settings.measured:
        right = ", ".join(f"{MEASURED[band]} {band}" for band in BANDS)
        rest = (
            f", and {OK_MEASURED} of those not to check" if settings.min_confidence is None else ""
        )
        yield f"In tests, an expert accepted {right} codes{rest}."


def _next(summary: Summary, page: Path | None) -> Iterator[str]:
    """Yield what failed, how many rows need a look, and the command that shows them."""
    if summary.parked:
        return
    if kinds := summary.failures.most_common():
        counted = ", ".join(f"{rows:,} {kind}" for kind, rows in kinds)
        yield f"failed: {counted}"
        yield from (f"{kind}: {summary.remedy(kind)}" for kind, _ in kinds)
        yield OWNED
    if summary.to_check:
        shown = f"; {page} shows them" if page else ""
        yield f"to check: {summary.to_check:,} of {summary.rows:,} rows{shown}"
    if summary.review_command:
        yield f"next: {summary.review_command}"
    elif summary.to_check and isinstance(summary.output, Path):
        yield f"next: {command('review FILE')}, for each file in {summary.output}"
    elif summary.paid and not summary.to_check and (under := summary.doubtful_under):
        yield f"next: to mark the doubtful rows, run again with --min-confidence {under}"
        yield OWNED
