"""One job from beginning to end: read, plan, (buy,) write."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from pipeline.answers import Matcher
from pipeline.classification.columns import check_free, new_fields
from pipeline.classification.manifest import Files, manifest
from pipeline.classification.plan import Forecast
from pipeline.classification.scan import Plan, scan
from pipeline.classification.sink import Target
from pipeline.classification.summary import Summary, SystemSummary
from pipeline.classification.write import Tally, write
from pipeline.errors import InputChangedError
from pipeline.money import plain, total
from pipeline.paid import Estimate, Purchase
from pipeline.paid.result import Paid, Parked
from pipeline.progress import Progress
from pipeline.settings import Settings
from pipeline.tables import Batch, Reader

__all__ = ["plan", "run"]


def run(
    reader: Reader,
    matcher: Matcher,
    target: Target,
    settings: Settings,
    progress: Progress,
    source: Path | None = None,
    purchase: Purchase | None = None,
    files: Files | None = None,
    partial: bool = False,
    seen: Callable[[Plan], None] = lambda _: None,
) -> Summary:
    """Do a job.

    Args:
        reader: the table.
        matcher: what answers its texts.
        target: where the enriched table goes.
        settings: what to do with it.
        progress: shows how far the job is.
        source: the table's file, for the manifest.
        purchase: buys what the matcher needs; None for the embedded engine, which needs nothing.
        files: how the table's files are written, for the manifest.
        partial: whether the table so far is written when the purchase parks.
        seen: told what is in the table, before any money is spent.

    Raises:
        InputError: the table cannot be read to its end; nothing was written.
        InputChangedError: the table changed while the job ran; nothing was written.
        OutputError: the output may not or cannot be written.
        SettingsError: the table has columns of our names.
        LedgerError: the ledger cannot be used, or another run buys with the same key.
    """
    started = time.monotonic()
    check_free(reader.schema.names, settings)
    target.check()
    if purchase and partial:
        target.partial.check()
    fingerprint = reader.opened_fingerprint

    rows = functools.partial(_rows, reader, settings)
    found = scan(purchase.noted(rows()) if purchase else rows())
    seen(found)
    if purchase:
        with target.draft(reader, new_fields(settings)) as draft:
            draft.writer.abort()  # what could not be written must not be bought first
    parked = purchase.buy(rows()) if purchase else None
    if purchase and parked and not partial:
        return _summary(Tally.of(settings.systems), None, 0, started, purchase.paid(), parked)
    place = target.partial if parked else target
    with place.draft(reader, new_fields(settings)) as draft:
        with progress(found.rows) as advance:
            tally = write(rows(), matcher, draft.writer, settings, advance)
        if reader.fingerprint() != fingerprint:
            raise InputChangedError(
                "The input changed while it was being read; no output was written.",
                "Run the same command again.",
            )
        paid = purchase.paid() if purchase else None
        replaced = draft.writer.replaced_characters
        summary = _summary(tally, place.path, replaced, started, paid, parked)
        draft.writer.close({"tender_pipeline.cost_usd": plain(summary.cost_usd)})
        draft.commit(manifest(source, fingerprint, settings, found, summary, files))
    if purchase and not parked:
        purchase.close_job()
        target.partial.discard()
    return summary


def plan(
    reader: Reader,
    settings: Settings,
    purchase: Purchase | None,
    seen: Callable[[Plan], None] = lambda _: None,
) -> Forecast:
    """Say what a job would do, spending nothing.

    Raises:
        InputError: the table cannot be read to its end.
        SettingsError: the table has columns of our names.
        LedgerError: the ledger cannot be used.
    """
    check_free(reader.schema.names, settings)
    rows = _rows(reader, settings)
    found = scan(purchase.noted(rows) if purchase else rows)
    seen(found)
    return Forecast(found, purchase.estimate() if purchase else Estimate.free())


def _rows(reader: Reader, settings: Settings) -> Iterator[Batch]:
    if settings.limit_rows is None:
        yield from reader.batches()
        return
    left = settings.limit_rows
    for batch in islice(reader.batches(), left):
        yield batch if len(batch.texts) <= left else batch.head(left)
        left -= len(batch.texts)
        if left <= 0:
            return


def _summary(
    tally: Tally,
    output: Path | None,
    replaced: int,
    started: float,
    paid: Paid | None,
    parked: Parked | None = None,
) -> Summary:
    systems = {
        system: SystemSummary(dict(counts), tally.cost_usd[system])
        for system, counts in tally.statuses.items()
    }
    return Summary(
        rows=tally.rows,
        systems=systems,
        cost_usd=paid.confirmed_usd if paid else total(tally.cost_usd.values()),
        seconds=time.monotonic() - started,
        output=output,
        replaced_characters=replaced,
        to_check=tally.to_check,
        paid=paid,
        parked=parked,
    )
