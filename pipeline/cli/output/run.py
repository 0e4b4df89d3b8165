"""What a run prints besides its table: an offer to buy, coded rows, a summary, what to do next."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, cycle
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipeline.answers import (
    BANDS,
    MEASURED,
    OK_MEASURED,
    BatchAnswers,
    Match,
    Matched,
    System,
    band,
)
from pipeline.classification.summary import Summary
from pipeline.cli.output.console import (
    ask,
    columns,
    form,
    notice,
    on_terminal,
    print_error,
    progress_display,
    say,
    wrap,
)
from pipeline.errors import OutputError
from pipeline.files.paths import AnyPath
from pipeline.json_log import FIELDS
from pipeline.purchases import Estimate
from pipeline.settings import Settings
from pipeline.tables.table import Batch
from pipeline.wording import command, how_many, visible

if TYPE_CHECKING:  # imported if there is a service
    from pipeline.paid.purchase import PaidBuyer
    from pipeline.paid.service import PaidService

COMMAND = "next: tender-pipeline"
"""The beginning of the line with a command, which is not wrapped, so that it can be copied."""

OWNED = "(answers that you own are not bought again: their rows then cost 0)"
"""What a second run of a job that is done changes: the costs in the output are those of a job."""

log = logging.getLogger("pipeline")


def buyer_of(service: PaidService, sure: bool) -> PaidBuyer:
    """Return a buyer that prints the estimate before it buys.

    On a terminal it asks, unless the user is sure (``--yes``) or the cost has a limit.
    """
    from pipeline.paid.purchase import PaidBuyer

    def confirm(estimate: Estimate) -> bool:
        if sure or service.has_cost_limit or not on_terminal():
            notice(describe(service, estimate))
            return True
        return ask(f"{describe(service, estimate)}\nBuy?")

    return PaidBuyer(service, progress_display(), confirm)


def describe(service: PaidService, estimate: Estimate) -> str:
    """Return a purchase's cost and duration, its limits and its ledger."""
    return f"{estimate}; ledger {service.ledger}"


def describe_files(
    service: PaidService, files: Mapping[AnyPath, Estimate], whole: Estimate
) -> Iterator[str]:
    """Yield what the purchase of each file would take, and that of all of them."""
    up_to = list(accumulate(files.values(), Estimate.then))
    may_stop = next((number for number, so_far in enumerate(up_to) if not so_far.fits), None)
    for number, (path, estimate) in enumerate(files.items()):
        if estimate.to_buy:
            stop = "; the run may stop here" if number == may_stop else ""
            yield f"{path}: {estimate.calls}{stop}"
    takes = f"at most {how_many(whole.to_buy, 'call')} to buy: {whole.takes}"
    once = "a text in several files is bought once"
    offer = f"{takes} ({service.allowed})"
    yield "; ".join(filter(None, (offer, once, whole.limits, f"ledger {service.ledger}")))


def print_summary(
    summary: Summary | None, text: str, *, as_json: bool, quiet: bool, beside_the_table: bool
) -> None:
    """Print a summary; if that fails, the job is still done, because its output is in place.

    `text` is the summary as text or JSON; JSON is printed in any case. If it is quiet, only why the
    job stopped is printed. If standard output has the table, the text goes to standard error.
    """
    if summary and form() == "json":
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
        others = (
            f", and {OK_MEASURED} of those not to check" if settings.min_confidence is None else ""
        )
        yield f"In tests, an expert accepted {right} codes{others}."


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


MOST = 5
"""How many rows are shown."""

TEXT_SHARE = 0.42
"""The part of a line's width, after how sure the code is, that the text of the row takes."""


class Examples:
    """The first coded rows, with one code each, of the systems in turn; `observe` gets all rows."""

    def __init__(self, systems: Sequence[System]) -> None:
        self._systems = cycle(systems)
        self._found: dict[str, tuple[System, Match]] = {}

    def observe(self, batch: Batch, answers: BatchAnswers) -> None:
        """Keep what is still missing of a batch."""
        for index, text in enumerate(batch.texts):
            if len(self._found) == MOST:
                return
            system = next(self._systems)
            match answers[system][index]:
                case Matched(matches=(first, *_)):
                    self._found.setdefault(text, (system, first))

    def lines(self, width: int) -> Iterator[str]:
        """Yield a heading and a line for each example, at most ``width`` columns wide."""
        if not self._found:
            return
        margin = max(map(len, BANDS)) + 2
        room = int((width - margin) * TEXT_SHARE)
        yield f"{'':<{margin}}{'text':<{room}}code"
        for text, (system, match) in self._found.items():
            start = f"{band(match.confidence):<{margin}}{_short(text, room - 2):<{room}}"
            code = f"{system} {match.code} {match.title}"
            yield start + _short(code, width - len(start))


def _short(text: str, width: int) -> str:
    text = visible(" ".join(text.split()))
    return text if len(text) <= width else f"{text[: width - 1].rstrip()}…"
