"""Notes in the ledger what a table needs: the first row of every distinct call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pipeline.answers import System
from pipeline.decisions import Decisions
from pipeline.paid.ledger import Job, text_digests
from pipeline.remembered import Remembered
from pipeline.tables import Batch

__all__ = ["Noting"]

NOTED_AT_ONCE = 10_000
"""Calls noted in one transaction, for which other processes' writes wait."""

MOST_WAITING = 50_000
"""Calls that wait to be noted in the order of their digests. With fewer, each of them would change
a page of its own in the ledger: for a million calls, that takes more than twice as long."""

MOST_NOTED = 100_000
"""How many digests to keep in memory, in about 10 MB."""


class Noting:
    """Notes the calls of one job's table.

    Args:
        job: the job.
        systems: the systems to ask for.
        decisions: what people decided; it needs no answer.

    Attributes:
        rows: how many rows the table has, once all of it is noted.
    """

    def __init__(self, job: Job, systems: Sequence[System], decisions: Decisions) -> None:
        self.rows = 0
        self._job = job
        self._systems = systems
        self._decisions = decisions

    def noted(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Yield a table's batches, and note the first row of every distinct call in them."""
        self._job.forget_rows()  # the table may have changed since an earlier run
        noted = set[bytes]()  # texts need not be noted twice, except to save memory
        digests = Remembered(text_digests)
        first_rows: dict[bytes, int] = {}
        self.rows = 0
        for batch in batches:
            both = zip(batch.texts, digests(batch.texts), strict=True)
            for row, (text, digest) in enumerate(both, start=self.rows):
                if text and digest not in noted:
                    first_rows.setdefault(digest, row)
            self.rows += len(batch.texts)
            if len(first_rows) > MOST_WAITING:
                self._note(first_rows, noted)
            yield batch
        self._note(first_rows, noted)

    def _note(self, first_rows: dict[bytes, int], noted: set[bytes]) -> None:
        """Note the first rows of calls, and move their digests to those that are noted."""
        for system in self._systems:
            calls = sorted(self._needed(system, first_rows))
            for start in range(0, len(calls), NOTED_AT_ONCE):
                self._job.note_rows(
                    (system, digest, row) for digest, row in calls[start : start + NOTED_AT_ONCE]
                )
        if len(noted) > MOST_NOTED:
            noted.clear()
        noted |= first_rows.keys()
        first_rows.clear()

    def _needed(
        self, system: System, first_rows: Mapping[bytes, int]
    ) -> Iterable[tuple[bytes, int]]:
        """Return the calls to note: what people decided only if an answer was bought already."""
        decided = {*first_rows.keys() & self._decisions.digests(system)}
        decided -= self._job.answered(system, [*decided])
        return [(each, row) for each, row in first_rows.items() if each not in decided]
