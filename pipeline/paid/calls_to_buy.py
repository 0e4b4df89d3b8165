"""The calls of a job's table: noted with their first rows, then bought at these."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from pipeline.answers import Match, System
from pipeline.decisions.decisions import NO_DECISIONS, Decisions
from pipeline.paid.ledger.ledger import LedgerJob
from pipeline.paid.ledger.schema import Call, text_digest, text_digests
from pipeline.tables.table import Batch


class CallToBuy(msgspec.Struct, frozen=True):
    """A call to buy.

    It is not sent again after ``losses`` lost answers in this run. ``candidates`` are what a
    language model chooses from.
    """

    call: Call
    losses: int
    candidates: tuple[Match, ...] = ()


MOST_WAITING = 50_000
"""Calls that wait to be noted in the order of their digests. With fewer, each of them would change
a page of its own in the ledger: for a million calls, that takes more than twice as long."""

MOST_LATER = 10_000
"""How many calls that failed before wait until the end of the table, in some megabytes."""


class CallsToBuy:
    """The calls of a job's table: first they are noted, then those to buy are found.

    Args:
        job: the job.
        systems: the systems to ask for.
        decisions: what people decided; it needs no answer.
    """

    def __init__(
        self, job: LedgerJob, systems: Sequence[System], decisions: Decisions = NO_DECISIONS
    ) -> None:
        self._job = job
        self._systems = systems
        self._decisions = decisions

    def record(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Yield a table's batches, and note the first row of every distinct call in them."""
        first_rows: dict[bytes, int] = {}
        first = 0
        for batch in batches:
            both = zip(batch.texts, text_digests(batch.texts), strict=True)
            for row, (text, digest) in enumerate(both, start=first):
                if text:
                    first_rows.setdefault(digest, row)
            first += len(batch.texts)
            if len(first_rows) > MOST_WAITING:
                self._note(first_rows)
            yield batch
        self._note(first_rows)

    def _note(self, first_rows: dict[bytes, int]) -> None:
        """Note the first rows of calls that have none yet, and forget them here."""
        for system in self._systems:
            self._job.note_rows(self._rows_to_note(system, first_rows))
        first_rows.clear()

    def _rows_to_note(
        self, system: System, first_rows: Mapping[bytes, int]
    ) -> list[tuple[System, bytes, int]]:
        """Return the calls to note: what people decided only if an answer was bought already."""
        decisions = self._decisions.by_key
        decided = {digest for digest in first_rows if (system, digest) in decisions}
        if decided:
            decided -= self._job.answered(system, [*decided])
        return [
            (system, digest, row) for digest, row in first_rows.items() if digest not in decided
        ]

    def of(self, batches: Iterable[Batch]) -> Iterator[CallToBuy]:
        """Yield the calls to buy, row by row, each at its first row.

        Calls that were sent before without an answer come last: else every run might begin with
        those that always fail, and stop. The ledger is asked again about each call, because what it
        lacked may be there by now.
        """
        first = 0
        later: list[CallToBuy] = []
        for batch in batches:
            texts = {row: text for row, text in enumerate(batch.texts, start=first) if text}
            yield from self._of(texts, later)
            first += len(batch.texts)
        yield from later

    def _of(self, texts: dict[int, str], later: list[CallToBuy]) -> Iterator[CallToBuy]:
        """Yield the calls to buy of some rows, except for those to buy later."""
        digests = {text: text_digest(text) for text in texts.values()}
        to_buy = {system: self._job.to_buy(system, [*digests.values()]) for system in self._systems}
        for row, text in texts.items():
            for system, calls in to_buy.items():
                if (digests[text], row) not in calls:
                    continue
                losses, was_sent = calls[digests[text], row]
                order = CallToBuy(Call(system, text), losses)
                if was_sent and len(later) < MOST_LATER:
                    later.append(order)
                else:
                    yield order
