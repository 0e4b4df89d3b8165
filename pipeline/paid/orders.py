"""Finds the calls to buy in a table, row by row."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence

from pipeline.answers import System
from pipeline.paid.bought import Order
from pipeline.paid.ledger import Call, CallCount, Job, text_digest
from pipeline.tables import Batch

__all__ = ["Orders"]


class Orders:
    """The calls of a job's table that are to be bought.

    Args:
        job: the job.
        systems: the systems to ask for.
    """

    def __init__(self, job: Job, systems: Sequence[System]) -> None:
        self._job = job
        self._systems = systems
        self._rows: Sequence[int] | None = None

    def expect(self, counts: Iterable[CallCount]) -> None:
        """Take over where the calls to buy are, so that no other row is looked up again."""
        every: set[int] = set()
        self._rows = None
        for count in counts:
            if count.rows is None:
                return
            every.update(count.rows)
        self._rows = sorted(every)

    def of(self, batches: Iterable[Batch]) -> Iterator[Order]:
        """Yield the calls to buy, row by row, each at its first row.

        The ledger is asked again about each, because what it lacked may be there by now.
        """
        first = 0
        for batch in batches:
            end = first + len(batch.texts)
            rows = self._within(first, end)
            texts = {row: text for row in rows if (text := batch.texts[row - first])}
            if texts:
                yield from self._of(texts)
            first = end

    def _of(self, texts: dict[int, str]) -> Iterator[Order]:
        """Yield the calls to buy of some rows."""
        digests = {text: text_digest(text) for text in texts.values()}
        wanted = {system: self._wanted(system, digests.values()) for system in self._systems}
        for row, text in texts.items():
            for system, losses in wanted.items():
                if (call := (digests[text], row)) in losses:
                    yield Order(Call(system, text), losses[call], row)

    def _within(self, first: int, end: int) -> Iterable[int]:
        """Return the rows from ``first`` to before ``end`` that may have a call to buy."""
        if self._rows is None:
            return range(first, end)
        return self._rows[bisect_left(self._rows, first) : bisect_left(self._rows, end)]

    def _wanted(self, system: System, calls: Collection[bytes]) -> dict[tuple[bytes, int], int]:
        """Return which calls to buy, by first row, with the lost answers that each may have."""
        digests = [*calls]
        answered = self._job.answered(system, digests)
        lost, most_lost = self._job.unconfirmed(system, digests), self._job.counting.most_lost
        return {
            (digest, row): most_lost - lost.get(digest, 0)
            for digest, row in self._job.first_rows(system, digests).items()
            if digest not in answered and lost.get(digest, 0) < most_lost
        }
