"""The purchases of jobs from one service: each joins ledger, throttle, budget, client and pool."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import asdict, dataclass
from datetime import timedelta
from decimal import Decimal
from functools import partial
from io import FileIO
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from pipeline.answers import Matched, System
from pipeline.decisions.decisions import NO_DECISIONS, Decisions
from pipeline.errors import LedgerError
from pipeline.files.paths import AnyPath
from pipeline.interruption import Interruption
from pipeline.money import ZERO, difference, times, total
from pipeline.paid.calls_to_buy import CallsToBuy, CallToBuy
from pipeline.paid.client.responses import LETTERS
from pipeline.paid.client.throttle import Throttle
from pipeline.paid.ledger.checks import check_usable
from pipeline.paid.ledger.journal import Journal
from pipeline.paid.ledger.ledger import Ledger, LedgerJob
from pipeline.paid.ledger.locks import buyer_lock, job_lock, ledger_lock
from pipeline.paid.ledger.mark import LedgerMark, check_marks, check_there, marks_in
from pipeline.paid.ledger.room import spare_file
from pipeline.paid.ledger.totals import Tally
from pipeline.paid.limits import Allowance, Budget, excess
from pipeline.paid.matcher import LedgerMatcher
from pipeline.paid.policy import DECLINED, LONGEST_PAUSE, RunProgress, price_too_high
from pipeline.paid.pool import Pool
from pipeline.paid.runner import INTERRUPTED, SIGNALS, StopRequest, buy_in_thread, show_progress
from pipeline.paid.service import PaidService
from pipeline.progress import Count, Display, silent
from pipeline.purchases import Estimate, Limited, Paid, Parked, Purchase
from pipeline.rate import duration
from pipeline.settings import Settings
from pipeline.tables.table import Batch
from pipeline.wording import Words, option

log = logging.getLogger(__name__)


class PaidPurchase(Purchase):
    """Buys what a job's table needs; a context manager, which `PaidBuyer.open` returns."""

    matcher: LedgerMatcher
    base_url: str
    ledger: Path

    def __init__(
        self,
        buyer: PaidBuyer,
        settings: Settings,
        identity: str,
        decisions: Decisions,
        earlier: Iterable[tuple[AnyPath, Mapping[str, Any]]],
        plan_only: bool,
    ) -> None:
        self.decisions = decisions
        self._buyer = buyer
        self._service = service = buyer.service
        self._plan_only = plan_only
        self._systems = settings.systems
        self.base_url, self.ledger = service.endpoint, service.ledger
        self._marks = marks_in(earlier, service.endpoint)
        check_there(service.ledger, self._marks)
        with ExitStack() as opened:
            self._ledger = Ledger(service.ledger, service.endpoint)
            opened.callback(self._ledger.close)
            if not plan_only:
                lock = job_lock(service.ledger, service.endpoint, identity, service.wait)
                opened.enter_context(lock)
            check_usable(self._ledger.database)
            open_job = self._ledger.open_plan if plan_only else self._ledger.open_job
            self._job: LedgerJob = open_job(identity, service.counting)
            self._opened = opened.pop_all()
        self._earlier_runs = EarlierRuns(self._ledger, service)
        self._calls = CallsToBuy(self._job, settings.systems, decisions)
        self.matcher = LedgerMatcher(self._job, settings.systems)

    def __enter__(self) -> PaidPurchase:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        with self._opened:
            if error and not self._plan_only:  # a table that cannot be read leaves no open job
                with suppress(LedgerError):  # it stays if it has sent something
                    self._job.delete()

    def record(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """Yield a table's batches, and note the first row of every distinct call in them."""
        return self._calls.record(batches)

    def estimate(self) -> Estimate:
        """Estimate what is to be bought, once the whole table is noted.

        Raises:
            LedgerError: something is, and the ledger is an older copy, or an earlier output was
                bought with another one.
        """
        calls = self._job.calls()
        distinct, to_buy, held = calls.distinct, calls.to_buy, calls.held
        usual = self._service.typical_prices
        low, high = self._ledger.prices(self._service.max_price) or usual
        if self._service.is_demo:  # a demo call may be free
            low = ZERO
        high = max(high, usual[1])
        if to_buy:
            check_marks(self._ledger.high_water, self._marks)
        pause = self._earlier_runs.pause_left() if to_buy else 0.0
        seconds = pause + self._earlier_runs.seconds_needed(to_buy)
        money_left = self._earlier_runs.cost_left(self._job)
        low, high = times(low, to_buy), times(high, to_buy)
        allowed = self._service.allowed if to_buy else ""
        return Estimate(distinct, to_buy, low, high, seconds, held, pause, money_left, allowed)

    def describe(self, source: str, output: str, rows: int) -> None:
        """Note the job's table in the ledger; see `LedgerJob.describe`."""
        self._job.describe(source, output, rows)

    def buy(
        self,
        batches: Iterable[Batch],
        estimate: Estimate,
        begun: Callable[[], object] = lambda: None,
    ) -> Parked | None:
        """Buy what the ledger cannot answer yet, in the table's order.

        Args:
            batches: the table.
            estimate: what is to be bought; see `estimate`.
            begun: called once a call is answered, before several are sent at a time.

        Returns:
            Why it stopped before its end, if it did.

        Raises:
            LedgerError: another run buys with this key or ledger, or it cannot be written.
        """
        if not estimate.to_buy:
            return None
        try:
            parked = self._buy_under_locks(batches, estimate, begun)
        except (asyncio.CancelledError, KeyboardInterrupt):
            self._note_stop(SIGNALS[INTERRUPTED])
            raise
        if parked:
            self._note_stop(parked.message)
        return parked

    def _note_stop(self, reason: str) -> None:
        with suppress(LedgerError):  # the note is for people; the reason is more important
            self._job.note_stop(reason)

    def _buy_under_locks(
        self, batches: Iterable[Batch], estimate: Estimate, begun: Callable[[], object]
    ) -> Parked | None:
        service = self._service
        address, key, wait = self._ledger.address, service.key_fingerprint, service.wait
        with ExitStack() as held:
            held.enter_context(buyer_lock(address, key, wait))
            held.enter_context(ledger_lock(service.ledger, address, wait))
            self._ledger.recover(service.key_fingerprint)
            spare_path = self._ledger.spare
            spare = held.enter_context(spare_file(service.ledger, spare_path, service.workers))
            if (highest := self._job.highest_price()) > service.max_price:
                return price_too_high(highest, service.max_price)
            if wait:  # another run may have bought some of it meanwhile
                estimate = self.estimate()
            orders = self._calls.of(batches)
            if service.chat:
                orders = _with_candidates(orders, self._systems, service.name)
            if not self._buyer.confirm(estimate):
                return DECLINED
            with self._buyer.progress(estimate.to_buy, "calls") as advance:
                buying = partial(self._buy_calls, orders, estimate.to_buy, begun, advance, spare)
                try:
                    return buy_in_thread(buying, self._buyer.interruption)
                finally:
                    self._ledger.database.check_place()

    def paid(self) -> Paid:
        """Return what the job has cost so far."""
        money = self._job.money()
        return Paid(
            attempts=money.attempts,
            confirmed_usd=money.confirmed,
            unattributed_usd=self._job.unattributed(),
            unconfirmed=money.unconfirmed,
            unknown=money.unknown,
            at_risk_usd=money.at_risk,
            over_max_cost_usd=excess(money.confirmed, self._service.max_cost),
        )

    def ledger_entry(self) -> Mapping[str, Any] | None:
        """Return the ledger's mark for the manifest of the output."""
        mark = LedgerMark.of(self._ledger.database)
        return asdict(mark) if mark else None

    def parked_entry(self) -> Mapping[str, Any] | None:
        """Return the mark for an output that is not written yet; None if nothing was bought."""
        if not self._job.was_answered():
            money = self._job.money()
            if not (money.confirmed or money.at_risk):
                return None
        mark = LedgerMark.of(self._ledger.database)
        return mark.while_parked(self.base_url) if mark else None

    def close_job(self) -> None:
        """Note that the job's output is in place."""
        self._ledger.database.check_place()
        self._job.close()

    async def _buy_calls(
        self,
        orders: Iterator[CallToBuy],
        to_buy: int,
        begun: Callable[[], object],
        advance: Count,
        spare: FileIO,
        stop_request: StopRequest,
    ) -> Parked | None:
        from pipeline.paid.client.client import Client  # its HTTP libraries take half a second

        service = self._service
        earlier = self._earlier_runs
        client = Client(
            service.base_url,
            service.api_key,
            language_model=service.chat,
            timeout=service.timeout.total_seconds(),
        )
        async with Journal(self._job, service.key_fingerprint, spare) as journal:
            progress = RunProgress(
                throttle=earlier.throttle(),
                budget=earlier.budget(self._job),
                systems={*self._systems},
                wait=service.wait or not service.is_demo,
                has_key=bool(service.api_key),
                max_price=service.max_price,
                longest_pause=math.inf if service.wait else LONGEST_PAUSE,
                is_address_right=self._job.was_answered(),
            )
            pool = Pool(client, journal, progress, to_buy)
            with stop_request.watching(pool, service.max_duration), show_progress(pool, advance):
                await pool.run(orders, service.workers, begun)
        if not pool.parked:
            self.matcher.down = pool.down
        return pool.parked


TEXTS_AT_ONCE = 32
"""The engine takes 12 ms for one text in all systems, and 42 ms for so many."""


def _with_candidates(
    calls: Iterator[CallToBuy], systems: Sequence[System], model: str
) -> Iterator[CallToBuy]:
    """Yield calls with their candidates, found some texts at a time, before these are sent.

    The log says first which model the texts go to.
    """
    from pipeline.engine import Engine  # other purchases do not need it

    log.info("The texts go to %s.", model)
    engine = Engine(systems, top=len(LETTERS))
    while portion := [*islice(calls, TEXTS_AT_ONCE * len(systems))]:
        texts = [*dict.fromkeys(order.call.text for order in portion)]
        (answers,) = engine.answers([texts])
        matches = {
            (system, text): answer.matches
            for system in systems
            for text, answer in zip(texts, answers[system], strict=True)
            if isinstance(answer, Matched)
        }
        for order in portion:
            key = order.call.system, order.call.text
            yield msgspec.structs.replace(order, candidates=matches.get(key, ()))


@dataclass(frozen=True, slots=True)
class PaidBuyer:
    """Buys the answers of jobs; see `pipeline.purchases.Buyer`.

    Attributes:
        service: the paid service, with the terms of buying from it.
        progress: opens the display of the progress.
        confirm: called before anything is bought; False declines.
        interruption: stops a purchase from another thread.
    """

    service: PaidService
    progress: Display = silent
    confirm: Callable[[Estimate], bool] = lambda _: True
    interruption: Interruption | None = None

    def open(
        self,
        settings: Settings,
        identity: str,
        decisions: Decisions = NO_DECISIONS,
        earlier: Iterable[tuple[AnyPath, Mapping[str, Any]]] = (),
        plan_only: bool = False,
    ) -> PaidPurchase:
        """Open the purchase of a job.

        Args:
            settings: the job's settings; they name the systems.
            identity: identifies the job: the same for the same output of the same input.
            decisions: what people decided; answers that it replaces are not bought.
            earlier: the outputs that the job will replace, with their manifests.
            plan_only: whether to leave the job and its rows as they are, and nothing in the ledger.

        Raises:
            LedgerError: the ledger cannot be used, an earlier output was bought with another one,
                or another run works on this job.
        """
        return PaidPurchase(self, settings, identity, decisions, earlier, plan_only)

    def with_limits(self, max_cost: Decimal | None, max_duration: timedelta | None) -> PaidBuyer:
        """Return a buyer that may spend as much money, US dollars, and time."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the user knows them already
            left = dataclasses.replace(self.service, max_cost=max_cost, max_duration=max_duration)
        return dataclasses.replace(self, service=left)

    def spent_on(self, identity: str) -> Decimal:
        """Return what an open job has cost and may have cost, US dollars.

        Raises:
            LedgerError: the ledger cannot be used.
        """
        if not self.service.ledger.exists():
            return ZERO
        with closing(Ledger(self.service.ledger, self.service.endpoint)) as ledger:
            job = ledger.find_job(identity)
            money = job.money() if job else Tally()
            return total([money.confirmed, money.at_risk])


@dataclass(frozen=True, slots=True)
class EarlierRuns:
    """What earlier runs used of a key's limits. Every method may raise a `LedgerError`.

    Attributes:
        ledger: what runs with this ledger sent, spent and learned.
        service: the limits, and how to keep them.
    """

    ledger: Ledger
    service: PaidService

    def cost_left(self, job: LedgerJob) -> dict[Limited, Decimal]:
        """Return what the cost limits leave, US dollars: of the day, the month and the job."""
        limits: dict[Limited, Decimal] = {
            allowance.period: allowance.left for allowance in self._allowances()
        }
        if self.service.max_cost is not None:
            spent = job.money()
            job_left = difference(self.service.max_cost, spent.confirmed, spent.at_risk)
            limits["job"] = max(ZERO, job_left)
        return limits

    def budget(self, job: LedgerJob) -> Budget:
        """Create the budget of a run; only the ledger's one buyer may call this.

        Args:
            job: the job, with what it has cost.
        """
        service = self.service
        money, prices = job.money(), self.ledger.prices(service.max_price)
        return Budget(
            money.confirmed,
            service.max_cost,
            prices[1] if prices else None,
            money.at_risk,
            self._allowances(),
            service.typical_prices[1],
        )

    def throttle(self) -> Throttle:
        """Create the throttle of a run in the running event loop; only the key's one buyer may.

        No attempt can have ended in the future, and no pause can become longer than it was. So if
        the clock ran ahead or was set back, times in the future are replaced with the present.
        """
        service = self.service
        now, clock = self.ledger.now(), asyncio.get_running_loop().time()
        busy_until = [end - now + clock for end in self._slot_ends(now)]
        refusal = self.ledger.last_refusal(service.key_fingerprint)
        pause = refusal.pause_left(now) if refusal else 0.0
        if pause > 0 and service.ignore_pause:
            at_once = f"{option('ignore_pause', True)} sends at once."
            log.warning(Words(f"The service asked to wait {duration(pause)} more; {at_once}"))
            pause = 0.0
        elif pause > 0:
            log.warning(f"The service asked to wait: nothing is sent for {duration(pause)}.")
        return Throttle(
            service.limit,
            burst=service.burst,
            busy_until=busy_until,
            slots=max(1, refusal.slots) if refusal else None,
            paused_until=clock + pause if refusal else None,
        )

    def pause_left(self) -> float:
        """Return how many seconds remain of a pause that the service asked earlier runs for."""
        refusal = self.ledger.last_refusal(self.service.key_fingerprint)
        if refusal is None or self.service.ignore_pause:
            return 0.0
        return max(0.0, refusal.pause_left(self.ledger.now()))

    def seconds_needed(self, calls: int) -> float:
        """Return how many seconds some calls take at the limit, with the slots that are taken."""
        limit = self.service.limit
        if limit is None:
            return 0.0
        now = self.ledger.now()
        held = sum(end > now for end in self._slot_ends(now))
        free = max(0, limit.slots - held)
        at_once = free if self.service.burst or calls <= free else 0
        return max(0, calls - at_once) / limit.slots * limit.hold

    def _allowances(self) -> list[Allowance]:
        """Return the cost limits of the current day and month, with what was spent of them."""
        allowances = []
        for period, limit in self.service.period_limits.items():
            allowance = Allowance(period, limit, self.ledger.now)
            key = self.service.key_fingerprint
            spent = self.ledger.spent_since(key, allowance.began_at.timestamp())
            later = self.ledger.spent_since(key, allowance.ends_at.timestamp())
            allowance.charge(spent.confirmed, spent.at_risk)
            allowance.ahead = total([later.confirmed, later.at_risk])
            allowances.append(allowance)
        return allowances

    def _slot_ends(self, now: float) -> list[float]:
        """Return when the latest attempts release their slots, in seconds since 1970."""
        limit = self.service.limit
        if limit is None:
            return []
        attempts = self.ledger.attempts_since(self.service.key_fingerprint, now - 2 * limit.hold)
        return [
            limit.lost_until(attempt.ended_at(now))
            if attempt.state in ("sent", "unconfirmed")
            else limit.answered_until(attempt.ended_at(now))
            for attempt in attempts
        ]
