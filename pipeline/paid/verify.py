"""Checks a whole ledger: the file, the attempts, and every kept response."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from typing import TypeAlias

from pipeline.errors import LedgerError
from pipeline.money import plain
from pipeline.paid.client.outcomes import Received
from pipeline.paid.ledger.calls import LASTING, CallEnded
from pipeline.paid.ledger.checks import (
    contradictions,
    damage,
    wrong_amounts,
    wrong_values,
)
from pipeline.paid.ledger.database import Snapshot
from pipeline.paid.ledger.mark import HighWaterMark
from pipeline.paid.ledger.totals import amount
from pipeline.paid.policy import judge
from pipeline.processes import in_processes

COUNTS = f"""
    SELECT count(*), total(state IN {LASTING}),
        total(state = 'pruned'), total(state = 'sent') FROM attempts
"""  # noqa: S608 - a constant

RESPONSES_AT_ONCE = 2_000

KEPT = f"""
    SELECT attempt_id, state, attempts.status, cost_usd, body
    FROM attempts LEFT JOIN bodies USING (attempt_id)
    WHERE state IN {LASTING} AND typeof(attempts.status) = 'integer'
    ORDER BY attempt_id
"""  # noqa: S608 - a constant

_Kept: TypeAlias = tuple[int, str, int, str | None, bytes | None]


@dataclass(frozen=True, slots=True)
class Extent:
    """The size of a ledger.

    Attributes:
        attempts: requests.
        responses: kept responses.
        pruned: answers whose response was pruned.
        under_way: attempts under way, now or when their run was killed.
    """

    attempts: int
    responses: int
    pruned: int
    under_way: int


def extent(snapshot: Snapshot) -> Extent:
    """Count what is to be checked."""
    return Extent(*map(int, snapshot.one(COUNTS)))


def problems(
    snapshot: Snapshot, jobs: int = 1, advance: Callable[[int], object] = lambda _: None
) -> Iterator[str]:
    """Yield every problem, in words; nothing for a consistent ledger.

    If the file is damaged or an amount is wrong, the later checks are left out: they could only
    repeat it.

    Args:
        snapshot: the ledger.
        jobs: how many processes read the responses; with 1, this process does.
        advance: called with the number of further responses that were read.

    Raises:
        LedgerError: the ledger cannot be read.
        EngineError: a process died.
    """
    for check in (damage, wrong_amounts):
        is_wrong = False
        for problem in check(snapshot):
            is_wrong = True
            yield problem
        if is_wrong:
            return
    try:
        HighWaterMark(snapshot).check()
    except LedgerError as older:
        yield f"{older.message} {older.hint}"
    yield from wrong_values(snapshot)
    yield from contradictions(snapshot)
    yield from _misread_responses(snapshot, jobs, advance)


def _misread_responses(
    snapshot: Snapshot, jobs: int, advance: Callable[[int], object]
) -> Iterator[str]:
    """Yield the attempts whose kept response is lost, or says something else than the ledger.

    An answer must still be an answer, and must have cost what its body states. A failure may read
    better today than it did when it was bought.
    """
    rows = snapshot.rows(KEPT)
    portions: Iterator[list[_Kept]] = iter(lambda: list(islice(rows, RESPONSES_AT_ONCE)), [])
    results = in_processes(_read, portions, jobs, "A process that reads responses")
    for read, problems in results:
        yield from problems
        advance(read)


def _read(portion: list[_Kept]) -> tuple[int, list[str]]:
    checked = ((kept[0], _problem(kept)) for kept in portion)
    return len(portion), [f"attempt {number} {problem}" for number, problem in checked if problem]


def _problem(kept: _Kept) -> str | None:
    _, state, status, cost, packed = kept
    if not isinstance(packed, bytes):
        return "has lost the body of its response"
    try:
        body = zlib.decompress(packed)
    except zlib.error as error:
        return f"has a body that cannot be unpacked: {error}"
    end = judge(Received(status, {}, body)).end
    if not isinstance(end, CallEnded) or (state == "answered" and end.state != state):
        return f"is {state}, but its body reads as {end.state}"
    known = None if cost is None else amount(cost)
    if known != end.cost_usd:
        return f"cost {_amount(known)}, but its body says {_amount(end.cost_usd)}"
    return None


def _amount(cost: Decimal | None) -> str:
    return "an unknown amount" if cost is None else f"{plain(cost)} USD"
