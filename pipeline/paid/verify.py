"""Checks a whole ledger: the file, the attempts, the sums, and every response once more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pipeline.paid.ledger.checks import damage, wrong_amounts, wrong_attempts, wrong_sums
from pipeline.paid.ledger.snapshot import Snapshot
from pipeline.paid.ledger.totals import read_books
from pipeline.paid.ledger.usable import wrong_jobs
from pipeline.paid.rereading import misread

__all__ = ["Extent", "extent", "problems"]

COUNTS = """
    SELECT count(*), total(state IN ('answered', 'refused', 'unreadable')),
        total(state = 'pruned'), total(state = 'sent') FROM attempts
"""


@dataclass(frozen=True, slots=True)
class Extent:
    """How much there is in a ledger.

    Attributes:
        attempts: requests.
        responses: responses that are kept.
        pruned: answers whose response was pruned.
        under_way: attempts that are under way, or were when their run was killed.
    """

    attempts: int
    responses: int
    pruned: int
    under_way: int


def extent(snapshot: Snapshot) -> Extent:
    """Count what is to be checked.

    Raises:
        LedgerError: the ledger cannot be read.
    """
    return Extent(*map(int, snapshot.one(COUNTS)))


def problems(
    snapshot: Snapshot,
    now: float,
    jobs: int = 1,
    advance: Callable[[int], object] = lambda _: None,
) -> Iterator[str]:
    """Yield everything that is wrong, in words; nothing for a ledger that is consistent.

    What is left out when something else is wrong could only repeat it.

    Args:
        snapshot: the ledger.
        now: the time, seconds since 1970.
        jobs: how many processes read the responses; one means this one.
        advance: told how many more responses were read again.

    Raises:
        LedgerError: the ledger cannot be read.
        EngineError: a process died.
    """
    for check in (damage, wrong_amounts):
        found = False
        for problem in check(snapshot):
            found = True
            yield problem
        if found:
            return
    yield from wrong_jobs(snapshot)
    yield from wrong_attempts(snapshot, now)
    yield from wrong_sums(snapshot, read_books(snapshot))
    yield from misread(snapshot, jobs, advance)
