"""The pool: a fixed number of workers that buy calls from one iterator."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from pipeline.answers import System
from pipeline.money import ZERO
from pipeline.paid import policy
from pipeline.paid.calls_to_buy import CallToBuy
from pipeline.paid.client.throttle import Slot
from pipeline.paid.ledger.journal import Journal
from pipeline.paid.ledger.schema import Call, RateRefusal
from pipeline.paid.policy import Judgement, LeftOut, RunProgress
from pipeline.purchases import Parked

if TYPE_CHECKING:  # a plan needs no HTTP libraries
    from pipeline.paid.client.client import Client

FIRST_BACKOFF, LONGEST_BACKOFF = 1.0, 60.0
"""Seconds after the first failure; doubled after each further one, up to the longest."""

TRIES = 5
"""How often a call that was certainly not billed is sent before it fails for this run."""

MOST_REFUSALS = 10
"""After this many refusals of one call for the rate limit, waiting does not help."""

MOST_PASSED_OVER = 1_000
"""How many calls are passed over to find the first one of another system."""

log = logging.getLogger(__name__)


class Pool:
    """Buys calls.

    Args:
        client: sends attempts.
        journal: records attempts.
        progress: what the run has done so far; it has the throttle, the budget and the systems.
        to_buy: how many calls there are.

    Attributes:
        progress: as above.
        throttle, budget: those of the progress.
        down: the systems that are left out of the rest of this run, with the error of each.
        parked: why the run is stopping; None while it is not.
    """

    def __init__(
        self, client: Client, journal: Journal, progress: RunProgress, to_buy: int
    ) -> None:
        self._client = client
        self._journal = journal
        self.progress = progress
        self.throttle, self.budget = progress.throttle, progress.budget
        self._remaining = to_buy
        self._under_way = 0
        self._stopping = {system: asyncio.Event() for system in progress.systems}
        self._slot_waits: set[asyncio.Timeout] = set()
        self.down: dict[System, str] = {}
        self._untold: list[str] = []
        self.parked: Parked | None = None
        self._error: Exception | None = None

    def park(self, parked: Parked) -> None:
        """Finish the calls under way and send no new ones. Only the first reason counts."""
        if self.parked:
            return
        self.parked = parked
        for stopping in self._stopping.values():
            stopping.set()
        for wait in self._slot_waits:
            wait.reschedule(0)  # a slot may be hours away

    def stop_for_time(self, seconds: float) -> None:
        """Stop because the run's time is up."""
        self.park(policy.time_is_up(seconds, self.progress.detail))

    @property
    def to_send(self) -> int:
        """How many open calls are not under way."""
        return self._remaining - self._under_way

    async def run(
        self, orders: Iterator[CallToBuy], workers: int, begun: Callable[[], object] = lambda: None
    ) -> None:
        """Buy the calls in their order.

        Until a valid answer arrives, calls are sent one at a time, so that a wrong address or key
        does not cost many attempts; then ``begun`` is called.
        """
        orders = self._one_of_each_system_first(orders)
        await self._run_workers(1, self._until_understood(orders))
        begun()
        await self._run_workers(workers if self.progress.wait else 1, orders)
        if self.progress.unreached >= TRIES:
            # A few calls do not fail often enough for FAILURES_IN_A_ROW.
            self.park(policy.service_down(self.progress.failures, self.progress.detail))
        if not self.parked:
            self._tell_of_down()

    def _one_of_each_system_first(self, orders: Iterator[CallToBuy]) -> Iterator[CallToBuy]:
        """Yield calls in their order, but before one is answered, one of each system first.

        So a system that is down does not hold up the beginning.
        """
        tried: set[System] = set()
        passed_over: list[CallToBuy] = []
        for order in orders:
            if order.call.system in tried:
                passed_over.append(order)
            else:
                tried.add(order.call.system)
                yield order
            all_tried = len(tried) == len(self._stopping) or len(passed_over) == MOST_PASSED_OVER
            if all_tried or self.progress.understood:
                break
        yield from passed_over
        yield from orders

    def _until_understood(self, orders: Iterator[CallToBuy]) -> Iterator[CallToBuy]:
        while not self.progress.understood and (order := next(orders, None)):
            yield order

    async def _run_workers(self, number: int, orders: Iterator[CallToBuy]) -> None:
        """Let some workers buy calls until none remain.

        Raises:
            Exception: the first error of a worker, once all others have ended.
        """
        async with asyncio.TaskGroup() as group:
            for _ in range(number):
                group.create_task(self._work(orders))
        if self._error:
            raise self._error

    async def _work(self, orders: Iterator[CallToBuy]) -> None:
        """Buy until no calls remain; after an error, let the other workers finish theirs."""
        try:
            while not self.parked and (order := next(orders, None)):
                await self._buy(order)
        except Exception as error:  # whichever it is, it must not cancel calls that are billed
            self._error = self._error or error
            self.park(Parked(1, str(error), ""))

    async def _buy(self, order: CallToBuy) -> None:
        stopping = self._stopping[order.call.system]
        again = lost = refused = 0
        since: datetime | None = None
        while not stopping.is_set():
            judgement = await self._attempt(order)
            if judgement is None:
                return
            self._note(order.call.system, judgement)
            lost += judgement.is_at_risk
            match judgement.next:
                case _ if lost >= order.losses:
                    break
                case "limited":
                    refused, since = refused + 1, since or datetime.now().astimezone()
                    await self._wait_after_refusals(stopping, refused, since)
                case "again" if (again := again + 1) < TRIES:
                    await self._back_off(stopping, again, judgement.wait)
                case "lost":
                    await self._back_off(stopping, lost, judgement.wait)
                case "credentials" | "money":
                    continue
                case _:
                    break
        else:
            if self.parked:
                return
            await asyncio.sleep(0)  # thousands of calls to a system that is down may follow
        self._remaining -= 1
        self.progress.calls += 1

    async def _wait_after_refusals(
        self, stopping: asyncio.Event, refused: int, since: datetime
    ) -> None:
        if refused == MOST_REFUSALS:
            self.park(policy.refused_without_end(refused, since))
        elif refused > 1:  # the service may not have said how long to wait
            await self._back_off(stopping, refused - 1)

    async def _back_off(
        self, stopping: asyncio.Event, tries: int, asked: float | None = None
    ) -> None:
        """Wait after a number of failed tries, with jitter, and at least as long as asked.

        The event ends the wait early.
        """
        longest = min(LONGEST_BACKOFF, FIRST_BACKOFF * 2 ** (tries - 1))
        jittered = longest * random.uniform(0.5, 1.0)  # noqa: S311 - jitter, not a secret
        with suppress(TimeoutError):
            async with asyncio.timeout(max(jittered, asked or 0.0)):
                await stopping.wait()

    async def _attempt(self, order: CallToBuy) -> Judgement | None:
        """Send a call once and judge it; None if the run stops."""
        if self.budget.exhausted:
            self.park(policy.cost_limit_reached(self.budget, self._remaining))
        elif not self.progress.wait and (self.throttle.pause_left or not self.throttle.free):
            self.park(policy.demo_limit_used_up(self.throttle))
        elif (pause := self.throttle.pause_left) > self.progress.longest_pause:
            self.park(policy.asked_to_wait(pause))
        slot = await self._acquire_slot()
        if slot is None:
            return None
        self._under_way += 1
        try:
            with slot:
                reserved = await self.budget.reserve()
                if reserved is not None:
                    return await self._send(order, slot, reserved)
                slot.unsent()
                self.park(policy.cost_limit_reached(self.budget, self._remaining))
        finally:
            self._under_way -= 1
        return None

    async def _send(self, order: CallToBuy, slot: Slot, reserved: Decimal) -> Judgement | None:
        """Send a call that has its slot and its reservation; see `_attempt`.

        The reservation becomes the attempt's cost when the end of the attempt is on the disk.
        """
        call, cost = order.call, None
        attempt = await self._record_attempt(call, slot, reserved)
        if attempt is None:
            return None
        try:
            reply = await self._client.send(call.system, call.text, order.candidates)
            judgement = policy.judge(reply)
            refusal = self._release_slot(slot, judgement)
            await self._journal.record_end(attempt, judgement.end, refusal)
            cost = judgement.cost_usd
        finally:  # after an error it is unknown: the service may have billed it
            self.budget.charge(reserved, cost)
        return judgement

    async def _acquire_slot(self) -> Slot | None:
        """Wait for a slot; None if the run stops before there is one."""
        if self.parked:
            return None
        try:
            async with asyncio.timeout(None) as wait:
                self._slot_waits.add(wait)
                try:
                    # A run that does not wait only uses free slots.
                    return await self.throttle.slot(
                        lambda: self.to_send if self.progress.wait else 1
                    )
                finally:
                    self._slot_waits.discard(wait)
        except TimeoutError:
            return None

    def _release_slot(self, slot: Slot, judgement: Judgement) -> RateRefusal | None:
        """Report how an attempt ended; return what the next run must know about a refusal."""
        if judgement.next == "limited":
            slot.refused(judgement.wait)
            return RateRefusal(self.throttle.slots, self.throttle.pause_left)
        if judgement.end.status is not None:
            slot.answered()
        elif judgement.end.state == "free":
            slot.unsent()  # else the end of the slot's block counts it as lost
        return None

    async def _record_attempt(self, call: Call, slot: Slot, reserved: Decimal) -> int | None:
        """Record an attempt before it is sent; None, and nothing may be sent, if the run stops."""
        attempt = None
        try:
            if not self.parked:
                attempt = await self._journal.record_attempt(call, reserved)
        finally:
            if attempt is None:
                slot.unsent()
                self.budget.charge(reserved, ZERO)
        return attempt

    def _note(self, system: System, judgement: Judgement) -> None:
        """Note an attempt; park or leave its system out if no other attempt can succeed."""
        match self.progress.note(system, judgement, self._remaining):
            case Parked() as why:
                self.park(why)
            case LeftOut(why):
                self._leave_out(system, judgement, why)
        if self._untold and self.progress.understood:
            self._tell_of_down()

    def _leave_out(self, system: System, judgement: Judgement, why: Parked) -> None:
        """Let all calls of a system fail in this run; park if no other system is left."""
        self.down[system] = judgement.end.error or ""
        self._stopping[system].set()
        if not self.progress.systems:
            self.park(why)
        self._untold.append(policy.left_out(system, why))

    def _tell_of_down(self) -> None:
        """Warn of the systems that are left out, once it is known that others are not."""
        for message in self._untold:
            log.warning(message)
        self._untold.clear()
