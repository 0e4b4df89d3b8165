"""One job from beginning to end: read, plan, buy, write."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from pipeline.classification.columns import check_free
from pipeline.classification.free import Free
from pipeline.classification.plan import Plan
from pipeline.classification.sink import Sink
from pipeline.classification.source import Source
from pipeline.classification.stages import SILENT, Reporter, Stages, ignore
from pipeline.classification.summary import Summary
from pipeline.classification.text_columns import few_words
from pipeline.settings import Settings
from pipeline.tables import Batch, checked

if TYPE_CHECKING:  # offline jobs do not need the purchase code
    from pipeline.paid.purchase import Purchase

__all__ = ["Reporter", "plan", "run"]


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

    Returns:
        What the job did; ``parked`` says why a run stopped early.

    Raises:
        InputError: the table cannot be read to its end; nothing was written.
        InputChangedError: the table changed while the job ran; nothing was written.
        OutputError: the output may not or cannot be written.
        SettingsError: the table already has columns with the names of the new ones.
        LedgerError: the ledger cannot be used, or another run buys with the same key.
    """
    stages = Stages(source, sink, settings, purchase, reporter)
    stages.check_writable()
    batches = checked(source.batches(settings.limit_rows), sink.output_format)
    planned = _plan(batches, source, settings, purchase, reporter.warn)
    stages.describe(planned.rows)
    with stages.accounting():
        parked = stages.buy(planned.purchase)
        if parked is None:
            summary = stages.write(sink, planned)
            stages.close()
            return summary
        if sink.keeps_partial:
            return stages.write(sink.partial, planned, parked)
        return stages.stopped(parked)


def plan(
    source: Source,
    settings: Settings,
    purchase: Purchase | Free,
    warn: Callable[[str], None] = ignore,
) -> Plan:
    """Read the table once and return what a job will do and buy, without spending anything.

    Raises:
        InputError: the table cannot be read to its end.
        SettingsError: the table already has columns with the names of the new ones.
        LedgerError: the ledger cannot be used.
    """
    check_free(source.reader.schema.names, settings)
    return _plan(source.batches(settings.limit_rows), source, settings, purchase, warn)


def _plan(
    batches: Iterable[Batch],
    source: Source,
    settings: Settings,
    purchase: Purchase | Free,
    warn: Callable[[str], None],
) -> Plan:
    found = Plan.of(purchase.noted(batches))
    if warning := few_words(settings.text_columns, found.rows, found.worded, source.sample):
        warn(warning)
    return replace(found, purchase=purchase.estimate())
