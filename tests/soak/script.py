"""The faults of a soak: every kind, dealt to requests at random places, the same for a seed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from math import ceil
from random import Random

from msgspec.structs import replace

from pipeline.rate import Rate
from pipeline.service.chaos.faults import FORMS, Fault, Form, Script

PARKING: tuple[Form, ...] = ("absurd-cost", "currency", "nan", "negative-cost")
"""Forms of garbage after which a run parks: a few do in a long night, none in a short one."""


def soak_script(seed: int, calls: int, timeout: float, rate: Rate) -> Script:
    """Deal faults to about one request in ten; psc is down for a third of the time.

    Args:
        seed: decides which.
        calls: how many calls there are; every one takes a request at least.
        timeout: how long the client waits for an answer, seconds.
        rate: the limit; each time, psc is down for one of three windows.
    """
    common: list[tuple[float, Fault]] = [
        (10, Fault("drop-before")),
        (10, Fault("drop-after")),
        (6, Fault("cut")),
        (5, Fault("stall", seconds=1.4 * timeout)),
        (3, Fault("drip", seconds=1.2 * timeout)),
        (4, Fault("drip", seconds=0.1)),
        (5, Fault("error")),
        (4, Fault("error", status=500, envelope=False)),
        (5, Fault("error", status=503, envelope=False)),
        (5, Fault("gateway", status=502)),
        (4, Fault("gateway", status=504)),
    ]
    common += [(1, Fault("garbage", form=form)) for form in FORMS if form not in PARKING]
    parking: list[tuple[float, Fault]] = [(0.1, Fault("garbage", form=form)) for form in PARKING]
    parking += [(0.1, Fault("error", status=503, envelope=False, burst=25))]
    refusals: list[tuple[float, Fault]] = [
        (0.3, Fault("refuse", seconds=1, burst=3)),
        (0.3, Fault("refuse", seconds=2, retry_after="date")),
        (0.3, Fault("refuse", retry_after="none")),
    ]
    thousands = calls / 1000
    # A run that was refused goes on more slowly, so that a limit that is not kept would not show:
    # that comes late. And bursts come last in the script, to leave the others their places.
    wanted = [(ceil(share * thousands), fault) for share, fault in common]
    wanted += [(int(share * thousands), fault) for share, fault in parking]
    late = [(ceil(share * thousands), fault) for share, fault in refusals]
    chance = Random(seed)
    dealt = _dealt(wanted, range(1, calls), chance)
    taken = {place for fault in dealt for place in fault.requests or ()}
    # At a place of two faults, the first one strikes: no refusal might be left.
    free = [place for place in range(2 * calls // 3, calls) if place not in taken]
    dealt += _dealt(late, free, chance)
    window = rate.window
    down: list[Fault] = [
        Fault(
            "error", status=503, envelope=False, systems=("psc",), after=start, until=start + window
        )
        for start in (window * number for number in range(2, 30 * calls // rate.slots + 30, 3))
    ]
    return Script(seed=seed, fault=(Fault("latency", seconds=0.005, jitter=0.05), *dealt, *down))


def _dealt(wanted: list[tuple[int, Fault]], among: Sequence[int], chance: Random) -> list[Fault]:
    """Give each fault so many places of its own."""
    places = iter(chance.sample(among, sum(count for count, _ in wanted)))
    return [
        replace(fault, requests=tuple(sorted(islice(places, count))))
        for count, fault in wanted
        if count
    ]
