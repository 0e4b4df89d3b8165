"""One job from beginning to end: read, plan, (buy,) write."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from pipeline.answers import Matcher
from pipeline.columns import check_free, new_fields
from pipeline.errors import InputChangedError
from pipeline.manifest import manifest
from pipeline.money import plain, total
from pipeline.outputs import Target
from pipeline.plan import scan
from pipeline.progress import Progress
from pipeline.report import Summary, SystemSummary
from pipeline.settings import Settings
from pipeline.tables import Batch, Reader
from pipeline.write import Tally, write

__all__ = ["run"]


def run(
    reader: Reader,
    matcher: Matcher,
    target: Target,
    settings: Settings,
    progress: Progress,
    source: Path | None = None,
) -> Summary:
    """Do a job.

    Args:
        reader: the table.
        matcher: what answers its texts.
        target: where the enriched table goes.
        settings: what to do with it.
        progress: shows how far the job is.
        source: the table's file, for the manifest.

    Raises:
        InputError: the table cannot be read to its end; nothing was written.
        InputChangedError: the table changed while the job ran; nothing was written.
        OutputError: the output may not or cannot be written.
        SettingsError: the table has columns of our names.
    """
    started = time.monotonic()
    check_free(reader.schema.names, settings)
    target.check()
    fingerprint = reader.fingerprint()
    plan = scan(_rows(reader, settings))
    with target.draft(reader, new_fields(settings)) as draft:
        with progress(plan.rows) as advance:
            tally = write(_rows(reader, settings), matcher, draft.writer, settings, advance)
        if reader.fingerprint() != fingerprint:
            raise InputChangedError(
                "The input changed while it was being read; no output was written.",
                "Run the same command again.",
            )
        summary = _summary(tally, target.path, draft.writer.replaced_characters, started)
        draft.writer.close({"tender_pipeline.cost_usd": plain(summary.cost_usd)})
        draft.commit(manifest(source, fingerprint, settings, plan, summary))
    return summary


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


def _summary(tally: Tally, output: Path | None, replaced: int, started: float) -> Summary:
    systems = {
        system: SystemSummary(dict(counts), tally.cost_usd[system])
        for system, counts in tally.statuses.items()
    }
    return Summary(
        rows=tally.rows,
        systems=systems,
        cost_usd=total(tally.cost_usd.values()),
        seconds=time.monotonic() - started,
        output=output,
        replaced_characters=replaced,
    )
