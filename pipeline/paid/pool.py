"""The pool: a fixed number of workers that buy calls from one iterator."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING

from pipeline.money import ZERO
from pipeline.paid import parking
from pipeline.paid.backoff import BackOffs
from pipeline.paid.bought import Bought, Order
from pipeline.paid.budget import MAX_PRICE, Budget
from pipeline.paid.client.replies import NotSent
from pipeline.paid.client.throttle import Slot, Throttle
from pipeline.paid.ledger import Call, Journal
from pipeline.paid.policy import Judgement, judge
from pipeline.paid.result import Parked
from pipeline.paid.turns import Turns

if TYPE_CHECKING:  # a plan needs no HTTP libraries
    from pipeline.paid.client.client import Client

__all__ = ["FAILURES_IN_A_ROW", "Pool"]

TRIES = 5
"""How often a call that was certainly not billed is sent before it fails for this run."""

FAILURES_IN_A_ROW = 20
"""After this many failed attempts in a row the service counts as down."""

MOST_REFUSALS = 10
"""After this many refusals of one call for the rate limit, waiting does not help."""

LONGEST_PAUSE = 3600.0
"""Seconds: a run without ``wait`` parks if the service asks for a longer pause."""


class Pool:
    """Buys calls.

    Args:
        client: sends attempts.
        throttle: keeps the rate limit.
        journal: records attempts.
        budget: keeps the cost limit.
        to_buy: how many calls there are.
        wait: whether to wait if no slot is free, instead of parking with one worker.
        has_key: whether requests carry a key; else they are demo requests.
        max_price: the run parks at a higher price of a call, US dollars.
        longest_pause: the run parks if the service asks to wait for more seconds.
        answered_before: whether the base URL is known to be right; see `Job.was_answered`.

    Attributes:
        throttle, journal, budget: as above.
        back_offs: the waits between tries.
        bought: what the run has done so far.
        parked: why the run is stopping; None while it is not.
    """

    def __init__(
        self,
        client: Client,
        throttle: Throttle,
        journal: Journal,
        budget: Budget,
        *,
        to_buy: int,
        wait: bool,
        has_key: bool = True,
        max_price: Decimal = MAX_PRICE,
        longest_pause: float = math.inf,
        answered_before: bool = False,
    ) -> None:
        self._client = client
        self.throttle = throttle
        self.journal = journal
        self.budget = budget
        self._remaining = to_buy
        self._wait = wait
        self._account_lacks = partial(parking.what_the_account_lacks, has_key, budget)
        self._max_price = max_price
        self._longest_pause = longest_pause
        self._under_way = 0
        self._stopping = asyncio.Event()
        self._turns = Turns(throttle)
        self.back_offs = BackOffs(self._stopping)
        self.bought = Bought(is_address_right=answered_before)
        self.parked: Parked | None = None
        self._error: Exception | None = None
        self._unwritten: set[asyncio.Future[None]] = set()

    def park(self, parked: Parked) -> None:
        """Finish the calls under way and send no new ones. Only the first reason counts."""
        if self.parked:
            return
        self.parked = parked
        self._stopping.set()
        self._turns.stop()

    def stop_for_time(self, seconds: float) -> None:
        """Stop because the run's time is up."""
        self.park(parking.time_is_up(seconds, self.bought.detail))

    @property
    def to_send(self) -> int:
        """How many open calls are not under way."""
        return self._remaining - self._under_way

    def interrupt(self, why: Parked) -> None:
        """Stop at once, without waiting for a ledger that cannot be written."""
        self.park(why)
        self.journal.give_up()

    async def run(self, orders: Iterator[Order], workers: int) -> None:
        """Buy the calls in their order.

        Until a valid answer arrives, calls are sent one at a time, so that a wrong address or key
        does not cost many attempts.
        """
        for order in orders:
            await self._buy(order)
            await self._all_written()
            if self.bought.understood or self.parked:
                break
        async with asyncio.TaskGroup() as group:
            for _ in range(workers if self._wait else 1):
                group.create_task(self._work(orders))
        await self._all_written()
        if self._error:
            raise self._error
        if self._turns.unreached >= TRIES:
            # A few calls do not fail often enough for FAILURES_IN_A_ROW.
            self.park(parking.service_down(self.bought.failures, self.bought.detail))

    async def _work(self, orders: Iterator[Order]) -> None:
        """Buy until no calls remain; after an error, let the other workers finish theirs."""
        try:
            while not self.parked:
                order = next(orders, None)
                if order is None:
                    self.bought.all_begun()
                    return
                await self._buy(order)
        except Exception as error:  # whichever it is, it must not cancel calls that are billed
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        """Park, and raise an error when everything under way has ended."""
        self._error = self._error or error
        self.park(parking.failed(error))

    async def _buy(self, order: Order) -> None:
        self.bought.begin(order)
        again = lost = refused = 0
        since: datetime | None = None
        while not self.parked:
            judgement = await self._attempt(order)
            if judgement is None:
                return
            self._note(judgement)
            lost += judgement.is_at_risk
            match judgement.next:
                case _ if lost >= order.losses:
                    break
                case "limited":
                    refused, since = refused + 1, since or datetime.now().astimezone()
                    if refused == MOST_REFUSALS:
                        self.park(parking.refused_without_end(refused, since))
                        return
                    if refused > 1:  # the service may not have said how long to wait
                        await self.back_offs.wait(refused - 1)
                case "again" if (again := again + 1) < TRIES:
                    await self.back_offs.wait(again, judgement.wait)
                case "lost":
                    await self.back_offs.wait(lost, judgement.wait)
                case "credentials" | "money":
                    return
                case _:
                    break
        else:
            return
        self._end(order)

    def _end(self, order: Order) -> None:
        self._remaining -= 1
        self.bought.end(order)

    async def _attempt(self, order: Order) -> Judgement | None:
        """Send a call once and judge it; None if the run stops, or `_end_later` counts it."""
        if self.budget.exhausted:
            self.park(parking.cost_limit_reached(self.budget, self._remaining))
        elif not self._wait and (self.throttle.pause_left or not self.throttle.free):
            self.park(parking.demo_limit_used_up(self.throttle))
        elif (pause := self.throttle.pause_left) > self._longest_pause:
            self.park(parking.asked_to_wait(pause))
        # A run that does not wait only uses free slots.
        slot = await self._turns.slot(lambda: self.to_send if self._wait else 1)
        if slot is None:
            return None
        self._under_way += 1
        try:
            with slot:
                reserved = await self.budget.reserve()
                if reserved is not None:
                    return await self._sent(order, slot, reserved)
                slot.unsent()
                self.park(parking.cost_limit_reached(self.budget, self._remaining))
        finally:
            self._under_way -= 1
        return None

    async def _sent(self, order: Order, slot: Slot, reserved: Decimal) -> Judgement | None:
        """Send a call that has its slot and its reservation; see `_attempt`.

        The reservation becomes the attempt's cost when the end of the attempt is on the disk.
        """
        call = order.call
        attempt = await self._recorded(call, slot, reserved)
        if attempt is None:
            return None
        try:
            reply = await self._client.send(call.system, call.text)
            judgement = judge(reply)
            learned = self._turns.end(slot, judgement, isinstance(reply, NotSent))
            written = self.journal.ended(attempt, judgement.end, learned)
        except BaseException:  # the service may have billed it
            self.budget.charge(reserved, None)
            raise
        if judgement.is_answered_for(min(reserved, self._max_price)):
            self._end_later(order, judgement, reserved, written)
            return None
        written.add_done_callback(partial(self._charge, reserved, judgement))
        await written
        return judgement

    async def _recorded(self, call: Call, slot: Slot, reserved: Decimal) -> int | None:
        """Record an attempt before it is sent; None, and nothing may be sent, if the run stops."""
        attempt = None
        try:
            if not self.parked:
                attempt = await self.journal.sent(call, reserved)
        finally:
            if attempt is None:
                slot.unsent()
                self.budget.charge(reserved, ZERO)
        return attempt

    def _end_later(
        self, order: Order, judgement: Judgement, reserved: Decimal, written: asyncio.Future[None]
    ) -> None:
        """Count an answered call once that is on the disk; its worker goes on meanwhile."""

        def end(written: asyncio.Future[None]) -> None:
            self._under_way -= 1
            self._unwritten.discard(written)
            self._charge(reserved, judgement, written)
            error = written.exception()
            if isinstance(error, Exception):
                self._fail(error)
            else:
                self._note(judgement)
                self._end(order)

        self._under_way += 1
        self._unwritten.add(written)
        written.add_done_callback(end)

    def _charge(
        self, reserved: Decimal, judgement: Judgement, written: asyncio.Future[None]
    ) -> None:
        """Charge an attempt's cost, which is unknown if its end could not be written."""
        known = not written.cancelled() and written.exception() is None
        self.budget.charge(reserved, judgement.cost_usd if known else None)

    async def _all_written(self) -> None:
        while self._unwritten:
            await asyncio.wait(self._unwritten)

    def _note(self, judgement: Judgement) -> None:
        """Count an attempt, and park if it shows that the run cannot continue."""
        bought = self.bought
        bought.count(judgement)
        price = judgement.cost_usd
        if price is not None and price > self._max_price:
            self.park(parking.price_too_high(price, self._max_price))
        elif lack := self._account_lacks(self._remaining, judgement):
            self.park(lack)
        elif not bought.understood and judgement.end.error == "MALFORMED_RESPONSE":
            self.park(parking.not_understood(judgement))
        elif judgement.next == "limited" and not self._wait:
            self.park(parking.demo_limit_used_up(self.throttle))
        elif (pause := max(self.throttle.pause_left, judgement.wait or 0.0)) > self._longest_pause:
            self.park(parking.asked_to_wait(pause, down=judgement.next in ("again", "lost")))
        elif bought.failures >= FAILURES_IN_A_ROW:
            self.park(parking.service_down(bought.failures, bought.detail))
