"""What must be true between the service's record, the ledger and the output.

Each check returns its complaints, one line each; none means that all is well. `agree` makes an
error of them. Amounts are compared to the last digit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import pairwise
from math import inf

from pipeline.answers import System
from pipeline.money import ZERO, plain, total
from pipeline.paid.ledger.calls import INTERRUPTED
from pipeline.rate import Rate
from pipeline.service.chaos.record import Served
from tests.money_trail.books import Attempt, Output, Service
from tests.money_trail.trail import Pair, Trail

LOSING = frozenset({"drop-before", "drop-after", "cut", "stall", "drip", "gateway", "error"})
"""Faults that may take an answer away; `error` only without the service's envelope."""


def agree(*complaints: Iterable[str]) -> None:
    """Raise an error that has every complaint.

    Raises:
        AssertionError: there are some.
    """
    found = [complaint for some in complaints for complaint in some]
    if found:
        more = [f"... and {len(found) - 30} more"] if len(found) > 30 else []
        raise AssertionError("\n".join([*found[:30], *more]))


def billed_as_recorded(service: Service) -> list[str]:
    """The record has what the accounts were charged, call by call."""
    recorded = sorted(
        (one.system, one.billed_usd) for one in service.requests if one.billed_usd is not None
    )
    charged = sorted((charge.system, charge.price_usd) for charge in service.charges)
    return [] if recorded == charged else [f"{recorded} recorded, {charged} charged"]


def every_request_was_written_down(trail: Trail) -> list[str]:
    """No request arrived that was not in the ledger before."""
    return [f"request {stray.number} stands in no ledger" for stray in trail.strays]


def nothing_is_bought_twice(attempts: Iterable[Attempt]) -> list[str]:
    """Behind an attempt that answers its call for good there is no other one of that call."""
    calls: defaultdict[tuple[System, bytes], list[Attempt]] = defaultdict(list)
    for attempt in sorted(attempts, key=lambda attempt: attempt.number):
        calls[attempt.call].append(attempt)
    return [
        f"attempt {later.number} was sent after {earlier.number} had ended its call"
        for of_call in calls.values()
        for earlier, later in pairwise(of_call)
        if earlier.ended
    ]


def nothing_stays_under_way(attempts: Iterable[Attempt]) -> list[str]:
    """Once a table is complete, every attempt has an end, those of runs that were killed too."""
    return [
        f"attempt {attempt.number} is still under way"
        for attempt in attempts
        if attempt.settled_at is None
    ]


def prices_are_as_stated(trail: Trail) -> list[str]:
    """The ledger has the price that each answer stated, and no other, and misses no bill."""
    return [complaint for pair in trail.pairs if (complaint := _misquoted(pair))] + [
        f"attempt {lost.number} is {lost.state}, but never reached the service"
        for lost in trail.lost
        if lost.ended
    ]


def _misquoted(pair: Pair) -> str | None:
    attempt, request = pair.attempt, pair.request
    named = f"attempt {attempt.number} ({attempt.state}), request {request.number}"
    if request.billed_usd is not None and attempt.state == "free":
        return f"{named}: billed, but taken for free"
    if attempt.ended and attempt.cost_usd != request.stated_usd:
        free = request.billed_usd is None and attempt.cost_usd == 0  # a refusal states no price
        return None if free else f"{named}: {request.stated_usd} stated, {attempt.cost_usd} noted"
    return None


def every_loss_is_explained(trail: Trail, kills: Sequence[float], timeout: float) -> list[str]:
    """Every unconfirmed attempt was under way at a fault that takes answers away, or at a kill.

    Args:
        trail: the books.
        kills: when the buyer was killed, seconds since 1970.
        timeout: how long an attempt may take, seconds: on a busy machine an answer may leave the
            service later than that although nothing was to go wrong, which its record shows.
    """
    requests = {pair.attempt.number: pair.request for pair in trail.pairs}
    everything = [pair.attempt for pair in trail.pairs] + trail.lost
    return [
        f"attempt {attempt.number} ({attempt.error}) is unconfirmed for no reason"
        for attempt in everything
        if attempt.unconfirmed
        and not (
            any(_under_way(attempt, kill) for kill in kills)
            if attempt.error in (None, INTERRUPTED)
            else _at_a_fault(attempt, requests.get(attempt.number), timeout)
        )
    ]


def _at_a_fault(attempt: Attempt, request: Served | None, timeout: float) -> bool:
    if request is None:
        return False
    late = attempt.error == "TIMEOUT" and (request.answered_at or inf) - attempt.sent_at >= timeout
    return request.fault in LOSING or late


def _under_way(attempt: Attempt, moment: float) -> bool:
    """Say whether an attempt was under way at a moment."""
    end = inf if attempt.settled_at is None else attempt.settled_at
    return attempt.sent_at <= moment <= end


def the_limit_is_kept(trail: Trail, rate: Rate) -> list[str]:
    """No window of the service's record has more requests than the rate allows.

    Both at the service's door and where its limit counts. The promise leaves out what arrives
    later than a window after its attempt was given up, and nothing else.
    """
    doors = [pair.request.arrived_at for pair in trail.pairs] + [
        stray.arrived_at for stray in trail.strays
    ]
    counted = [
        worked
        for pair in trail.pairs
        if (worked := pair.request.worked_at) is not None
        and worked <= (pair.attempt.settled_at or worked) + rate.window
    ]
    return _crowded("arrived", doors, rate) + _crowded("were counted", counted, rate)


def _crowded(what: str, times: list[float], rate: Rate) -> list[str]:
    times.sort()
    return [
        f"{rate.slots + 1} requests {what} in {last - first:.6f} s from {first} on"
        for first, last in zip(times, times[rate.slots :], strict=False)
        if last - first < rate.window
    ]


def money_agrees(trail: Trail, service: Service) -> list[str]:
    """All that was billed = what is confirmed + the service's price of what is not.

    Where an answer stated another price than was billed, the difference stands apart: what is
    confirmed is what was stated.
    """
    confirmed = total(
        attempt.cost_usd
        for attempt in [*(pair.attempt for pair in trail.pairs), *trail.lost]
        if attempt.cost_usd is not None
    )
    doubtful = _billed(
        pair for pair in trail.pairs if pair.attempt.unconfirmed or pair.attempt.unknown
    )
    misstated = total(
        total([pair.request.stated_usd, -(pair.request.billed_usd or ZERO)])
        for pair in trail.pairs
        if pair.attempt.cost_usd is not None and pair.request.stated_usd is not None
    )
    billed = total(one.billed_usd for one in service.requests if one.billed_usd is not None)
    if billed == total([confirmed, -misstated, doubtful]):
        return []
    return [
        f"{plain(billed)} USD billed, but {plain(confirmed)} confirmed (of it {plain(misstated)} "
        f"misstated) and {plain(doubtful)} in doubt"
    ]


def _billed(pairs: Iterable[Pair]) -> Decimal:
    return total(pair.request.billed_usd for pair in pairs if pair.request.billed_usd is not None)


def totals_agree(attempts: Sequence[Attempt], output: Output) -> list[str]:
    """The job's attempts, the rows of its output and its manifest say the same."""
    paid = output.summary["paid"]
    in_doubt = [one for one in attempts if one.unconfirmed or one.unknown]
    confirmed = total(one.cost_usd for one in attempts if one.cost_usd is not None)
    unattributed = Decimal(paid["unattributed_usd"])
    figures = {
        "rows + unattributed, USD": (total([output.rows_usd, unattributed]), confirmed),
        "total, USD": (Decimal(output.summary["cost_usd"]), confirmed),
        "confirmed, USD": (Decimal(paid["confirmed_usd"]), confirmed),
        "at risk, USD": (
            Decimal(paid["at_risk_usd"]),
            total(one.reserved_usd for one in in_doubt),
        ),
        "attempts": (paid["attempts"], len(attempts)),
        "unconfirmed": (paid["unconfirmed"], sum(one.unconfirmed for one in in_doubt)),
        "unknown": (paid["unknown"], sum(one.unknown for one in in_doubt)),
    }
    return [
        f"{name}: {told} in the output, {known} in the ledger"
        for name, (told, known) in figures.items()
        if told != known
    ]
