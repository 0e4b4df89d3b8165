"""Checks a whole ledger: the file, the attempts, and every kept response."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from decimal import Decimal

from pipeline.errors import LedgerError
from pipeline.money import plain
from pipeline.paid.client.outcomes import Received
from pipeline.paid.ledger.checks import (
    contradictions,
    damage,
    wrong_amounts,
    wrong_values,
)
from pipeline.paid.ledger.database import Snapshot
from pipeline.paid.ledger.mark import HighWaterMark
from pipeline.paid.ledger.schema import LASTING, CallEnded
from pipeline.paid.ledger.totals import amount
from pipeline.paid.policy import judge

COUNTS = f"""
    SELECT count(*), total(state IN {LASTING}),
        total(state = 'pruned'), total(state = 'sent') FROM attempts
"""  # noqa: S608 - a constant

KEPT = f"""
    SELECT attempt_id, state, attempts.status, cost_usd, body
    FROM attempts LEFT JOIN bodies USING (attempt_id)
    WHERE state IN {LASTING} AND typeof(attempts.status) = 'integer'
    ORDER BY attempt_id
"""  # noqa: S608 - a constant


def extent(snapshot: Snapshot) -> dict[str, int]:
    """Count what is to be checked: attempts, responses that are kept, and answers that were pruned.

    What is under way may be so now, or was when its run was killed.
    """
    counts = map(int, snapshot.one(COUNTS))
    return dict(zip(("attempts", "responses", "pruned", "under_way"), counts, strict=True))


def problems(
    snapshot: Snapshot, advance: Callable[[int], object] = lambda _: None
) -> Iterator[str]:
    """Yield every problem, in words; nothing for a consistent ledger.

    If the file is damaged or an amount is wrong, the later checks are left out: they could only
    repeat it.

    Args:
        snapshot: the ledger.
        advance: called with the number of further responses that were read.

    Raises:
        LedgerError: the ledger cannot be read.
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
    for number, *kept in snapshot.rows(KEPT):
        if wrong := _misread(*kept):
            yield f"attempt {number} {wrong}"
        advance(1)


def _misread(state: str, status: int, cost: str | None, packed: object) -> str | None:
    """Return what is wrong with a kept response, if it is lost or contradicts the ledger.

    An answer must still be an answer, and must have cost what its body states. A failure may read
    better today than it did when it was bought.
    """
    if not isinstance(packed, bytes):
        return "has lost the body of its response"
    try:
        body = zlib.decompress(packed)
    except zlib.error as error:
        return f"has a body that cannot be unpacked: {error}"
    end = judge(Received(status, {}, body)).end
    if not isinstance(end, CallEnded) or (state == "answered" and end.state != state):
        return f"is {state}, but its body reads as {end.state}"
    price = None if cost is None else amount(cost)
    if price != end.cost_usd:
        return f"cost {_amount(price)}, but its body says {_amount(end.cost_usd)}"
    return None


def _amount(cost: Decimal | None) -> str:
    return "an unknown amount" if cost is None else f"{plain(cost)} USD"
