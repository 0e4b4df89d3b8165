"""Reads kept responses again, and compares what they say with what the ledger has of them."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import islice

from pipeline.api.client import Received
from pipeline.buy.policy import judge
from pipeline.ledger import CallEnded
from pipeline.ledger.snapshot import Snapshot
from pipeline.ledger.tally import amount
from pipeline.money import plain

__all__ = ["misread"]

BODIES_AT_ONCE = 2_000

LASTING = """
    SELECT attempt_id, state, attempts.status, cost_usd, body
    FROM attempts LEFT JOIN bodies USING (attempt_id)
    WHERE state IN ('answered', 'refused', 'unreadable') ORDER BY attempt_id
"""


def misread(snapshot: Snapshot, advance: Callable[[int], object]) -> Iterator[str]:
    """Yield the attempts whose kept response is lost or says something else than the ledger.

    An answer must still be one, and what it cost must be what its body states. That a failure
    reads better today than it did when it was bought is no contradiction.

    Args:
        snapshot: the ledger.
        advance: told how many more responses were read.

    Raises:
        LedgerError: the ledger cannot be read.
    """
    rows = snapshot.rows(LASTING)
    while some := list(islice(rows, BODIES_AT_ONCE)):
        for number, state, status, cost, body in some:
            if problem := _problem(state, status, cost, body):
                yield f"attempt {number} {problem}"
        advance(len(some))


def _problem(state: str, status: int, cost: str | None, packed: bytes | None) -> str | None:
    if packed is None:
        return "has lost the body of its response"
    try:
        body = zlib.decompress(packed)
    except zlib.error as error:
        return f"has a body that cannot be unpacked: {error}"
    end = judge(Received(status, {}, body, 0.0)).settlement
    if not isinstance(end, CallEnded) or (state == "answered" and end.state != state):
        return f"is {state}, but its body reads as {end.state}"
    known = None if cost is None else amount(cost)
    if known != end.cost_usd:
        return f"cost {_said(known)}, but its body says {_said(end.cost_usd)}"
    return None


def _said(cost: Decimal | None) -> str:
    return "an unknown amount" if cost is None else f"{plain(cost)} USD"
