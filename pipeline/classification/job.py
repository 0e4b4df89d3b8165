"""One job from beginning to end: read, plan, buy, write."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pipeline.classification.columns import check_free, new_fields
from pipeline.classification.free import Free
from pipeline.classification.manifest import manifest
from pipeline.classification.plan import Plan
from pipeline.classification.sink import Sink
from pipeline.classification.source import Source
from pipeline.classification.summary import Summary
from pipeline.classification.text_columns import few_words
from pipeline.classification.write import Observe, Tally, write
from pipeline.decisions import decided
from pipeline.errors import InputChangedError
from pipeline.files.paths import AnyPath, resolved
from pipeline.money import plain
from pipeline.paid.result import IN_MEMORY, Parked
from pipeline.progress import Progress, silent
from pipeline.settings import Settings
from pipeline.tables import Batch

if TYPE_CHECKING:  # offline jobs do not need the purchase code
    from pipeline.paid.purchase import Purchase

__all__ = ["Reporter", "plan", "run"]


@dataclass(frozen=True, slots=True)
class Reporter:
    """Reports a job's progress and warnings to its caller.

    Attributes:
        progress: shows how many rows have been written.
        warn: receives a warning about the table, before anything is bought.
        observe: receives the texts and answers of each batch that is written.
        record: receives the manifest once the output is in place.
    """

    progress: Progress = silent
    warn: Callable[[str], None] = lambda _: None
    observe: Observe = lambda _texts, _answers: None
    record: Callable[[Mapping[str, Any]], None] = lambda _: None


SILENT = Reporter()


def run(
    source: Source,
    sink: Sink,
    settings: Settings,
    purchase: Purchase | Free,
    reporter: Reporter = SILENT,
) -> Summary:
    """Run a job: read the table, plan, buy the missing answers, write the table with its codes.

    The table is read twice: the first pass plans, and the second writes. The cost of a job is
    known only after its last row, and a damaged row must be found before money is spent.

    Answers are parsed twice, too. When an answer arrives, it is parsed to get its price and to
    check that it is valid, and the ledger stores it unchanged. When its row is written, the
    matcher parses it again from the ledger. So no answer is held in memory, a killed run loses
    none, and ``--top`` and ``--min-confidence`` also apply to answers that were bought before.

    Args:
        source: the table.
        sink: where the table with its codes goes.
        settings: what to do with it.
        purchase: buys the answers that the ledger lacks, and provides the matcher that reads them.
        reporter: shows progress and passes on warnings.

    Returns:
        What the job did; ``parked`` says why a run stopped early.

    Raises:
        InputError: the table cannot be read to its end; nothing was written.
        InputChangedError: the table changed while the job ran; nothing was written.
        OutputError: the output may not or cannot be written.
        SettingsError: the table already has columns with the names of the new ones.
        LedgerError: the ledger cannot be used, or another run buys with the same key.
    """
    started = time.monotonic()
    fingerprint = source.reader.opened_fingerprint
    _check_writable(source, sink, settings, purchase)
    planned = plan(source, settings, purchase, reporter.warn, sink.checked)
    if not isinstance(purchase, Free):
        purchase.describe(_named(source.path), _named(sink.path), planned.rows)
    parked = _buy(source, sink, settings, purchase, planned)
    if parked and not sink.keeps_partial:
        return _summary(Tally.of(settings.systems), purchase, started, parked)

    place = sink.partial if parked else sink
    with place.draft(source.reader, new_fields(settings)) as draft:
        batches = source.batches(settings.limit_rows)
        with reporter.progress(planned.rows) as advance:
            matcher = decided(purchase.matcher, purchase.decisions)
            tally = write(batches, matcher, draft.writer, settings, advance, reporter.observe)
        _check_unchanged(source, fingerprint)
        replaced = draft.writer.replaced_characters
        summary = _summary(tally, purchase, started, parked, place.path, replaced)
        draft.writer.close({"tender_pipeline.cost_usd": plain(summary.cost_usd)})
        record = manifest(
            source.path,
            fingerprint,
            settings,
            planned,
            summary,
            source.files,
            purchase.base_url,
            source.version,
        )
        draft.commit(record)
    reporter.record(record)
    if not isinstance(purchase, Free) and not parked:
        purchase.close_job()
        sink.partial.discard()
    return summary


def plan(
    source: Source,
    settings: Settings,
    purchase: Purchase | Free,
    warn: Callable[[str], None] = SILENT.warn,
    checked: Callable[[Iterable[Batch]], Iterable[Batch]] = iter,
) -> Plan:
    """Read the table once and return what a job will do and buy, without spending anything.

    Args:
        source: the table.
        settings: what to do with it.
        purchase: records each call's first row, and knows which answers the ledger has.
        warn: receives a warning if the text columns hold hardly any words.
        checked: passes on the batches, and refuses rows that the output cannot hold.

    Raises:
        InputError: the table cannot be read to its end.
        SettingsError: the table already has columns with the names of the new ones.
        LedgerError: the ledger cannot be used.
    """
    check_free(source.reader.schema.names, settings)
    found = Plan.of(purchase.noted(checked(source.batches(settings.limit_rows))))
    if warning := few_words(settings.text_columns, found.rows, found.worded, source.sample):
        warn(warning)
    return replace(found, purchase=purchase.estimate())


def _check_writable(
    source: Source, sink: Sink, settings: Settings, purchase: Purchase | Free
) -> None:
    check_free(source.reader.schema.names, settings)
    sink.check()
    if sink.keeps_partial and not isinstance(purchase, Free):
        sink.partial.check()


def _buy(
    source: Source, sink: Sink, settings: Settings, purchase: Purchase | Free, planned: Plan
) -> Parked | None:
    if not planned.purchase.to_buy:
        return None
    with sink.draft(source.reader, new_fields(settings)) as draft:
        draft.writer.abort()  # do not buy answers that cannot be written
    return purchase.buy(source.batches(settings.limit_rows), planned.purchase)


def _named(path: AnyPath | None) -> str:
    """Return where a table is, for the list of open jobs."""
    if path is None:
        return IN_MEMORY
    return "standard input" if str(path) == "-" else str(resolved(path))


def _check_unchanged(source: Source, fingerprint: str) -> None:
    if source.reader.fingerprint() != fingerprint:
        raise InputChangedError(
            "The input changed while it was being read; no output was written.",
            "Run the same command again.",
        )


def _summary(
    tally: Tally,
    purchase: Purchase | Free,
    started: float,
    parked: Parked | None,
    output: AnyPath | None = None,
    replaced: int = 0,
) -> Summary:
    paid = purchase.paid()
    return Summary(
        rows=tally.rows,
        systems=tally.systems,
        cost_usd=paid.confirmed_usd if paid else tally.cost_usd,
        seconds=time.monotonic() - started,
        output=output,
        replaced_characters=replaced,
        to_check=tally.to_check,
        paid=paid,
        parked=parked,
    )
