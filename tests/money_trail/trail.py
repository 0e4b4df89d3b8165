"""Follows every attempt of a ledger to the request that it was at the service."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from pipeline.answers import System
from pipeline.service.chaos.record import Served
from tests.money_trail.books import Attempt


@dataclass(frozen=True, slots=True)
class Pair:
    """An attempt and the request that it was at the service."""

    attempt: Attempt
    request: Served


@dataclass(frozen=True, slots=True)
class Trail:
    """Who is who in two books.

    Attributes:
        pairs: the attempts that reached the service.
        lost: the attempts that did not.
        strays: requests that no attempt stands for, as far as they have a text.
    """

    pairs: list[Pair] = field(default_factory=list)
    lost: list[Attempt] = field(default_factory=list)
    strays: list[Served] = field(default_factory=list)


def follow(attempts: Iterable[Attempt], requests: Iterable[Served]) -> Trail:
    """Find the request of each attempt: the next of its text that arrived after it was written.

    Both books go by the clock of one machine. Attempts of one call follow each other, so the
    request that arrives is of the latest attempt that is written and has none yet. A request
    without a text (its body broke off) can have billed nothing, and is left out.
    """
    trail = Trail()
    waiting: defaultdict[tuple[System, bytes], list[Attempt]] = defaultdict(list)
    for attempt in sorted(attempts, key=lambda attempt: attempt.sent_at):
        waiting[attempt.call].append(attempt)
    for request in sorted(requests, key=lambda request: request.arrived_at):
        if request.digest is None:
            continue
        unmet = waiting[request.system, request.digest]
        written = [attempt for attempt in unmet if attempt.sent_at <= request.arrived_at]
        if written:
            unmet.remove(written[-1])
            trail.pairs.append(Pair(written[-1], request))
        else:
            trail.strays.append(request)
    trail.lost.extend(attempt for unmet in waiting.values() for attempt in unmet)
    return trail
