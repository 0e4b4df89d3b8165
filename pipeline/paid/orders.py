"""Finds the calls to buy in a table, row by row."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence

from pipeline.answers import System
from pipeline.paid.bought import Order
from pipeline.paid.ledger import Call, CallCount, Job, text_digest
from pipeline.tables import Batch

__all__ = ["Orders"]

MOST_LATER = 10_000
"""How many calls that failed before wait until the end of the table, in some megabytes."""


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

        Calls that were sent before without an answer come last: else every run might begin with
        those that always fail, and stop. The ledger is asked again about each call, because what it
        lacked may be there by now.
        """
        first = 0
        later: list[Order] = []
        for batch in batches:
            end = first + len(batch.texts)
            rows = self._within(first, end)
            texts = {row: text for row in rows if (text := batch.texts[row - first])}
            if texts:
                yield from self._of(texts, later)
            first = end
        yield from later

    def _of(self, texts: dict[int, str], later: list[Order]) -> Iterator[Order]:
        """Yield the calls to buy of some rows, except for those to buy later."""
        digests = {text: text_digest(text) for text in texts.values()}
        wanted = {system: self._wanted(system, digests.values()) for system in self._systems}
        sent = {
            system: self._job.sent(system, [digest for digest, _ in wanted[system]])
            for system in wanted
        }
        for row, text in texts.items():
            digest = digests[text]
            for system, losses in wanted.items():
                if (digest, row) not in losses:
                    continue
                order = Order(Call(system, text), losses[digest, row], row)
                if digest in sent[system] and len(later) < MOST_LATER:
                    later.append(order)
                else:
                    yield order

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
