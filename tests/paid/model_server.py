"""A server that answers from a script in virtual time, and a pool that buys from it."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, cast

from pipeline.answers import SYSTEMS, System
from pipeline.money import total
from pipeline.paid.calls_to_buy import CallToBuy
from pipeline.paid.client.client import Client
from pipeline.paid.client.outcomes import Lost, NotSent, Received, Reply
from pipeline.paid.client.throttle import Throttle
from pipeline.paid.ledger.journal import Journal
from pipeline.paid.ledger.ledger import LedgerJob
from pipeline.paid.ledger.schema import Call, text_digest
from pipeline.paid.limits import MAX_PRICE, Budget
from pipeline.paid.policy import RunProgress
from pipeline.paid.pool import Pool
from pipeline.paid.runner import show_progress
from pipeline.progress import Count
from pipeline.purchases import Parked
from pipeline.rate import Rate
from tests.paid.client.virtual_time import VirtualTimeLoop
from tests.paid.ledger.buying import FINGERPRINT

PRICE = Decimal("0.00010499999999999999")
ENDED = {"detailed", "compact", "silent", "refused", "unreadable"}
BILLED = {"detailed", "compact", "silent", "unreadable", "lost", "gateway"}
OPEN = {"limited", "wait for 5", "internal", "503", "lost", "gateway", "not sent"}
OUTCOMES = sorted(ENDED | OPEN)
FAILURES = {
    "internal": (500, "INTERNAL_ERROR"),
    "refused": (400, "VALIDATION_ERROR"),
    "no such address": (404, "VALIDATION_ERROR"),
    "unauthorized": (403, "UNAUTHORIZED"),
}
PAGES: dict[str, tuple[int, dict[str, str], bytes]] = {
    "400": (400, {}, b"<html>"),
    "413": (413, {}, b"<html>"),
    "413 charged": (413, {}, b'{"metadata": {"cost": {"apiCost": 0.00005}}}'),
    "422": (422, {}, b"<html>"),
    "gateway": (502, {}, b"<html>"),
}
WAITS = {
    "503": (503, b"<html>"),
    "billed 503": (503, b'{"success": false, "metadata": {"cost": {"apiCost": 0.0001}}}'),
    "wait": (429, b""),
}
"""What is followed by how many seconds to wait, such as ``wait for 5``."""

STOP = Parked(130, "Interrupted.", "Run the same command: it continues.")


class InlineLoop(VirtualTimeLoop):
    """Virtual time; what would go to a thread is done at once."""

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        done = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as error:
            done.set_exception(error)
        return done


@dataclass
class ModelServer:
    """Answers from a script, then in full, and keeps its own books; some systems never change."""

    script: list[str]
    always: dict[System, str] = field(default_factory=dict)
    asked: list[Call] = field(default_factory=list)
    told: list[Call] = field(default_factory=list)
    charged: Decimal = Decimal(0)
    charged_and_told: Decimal = Decimal(0)
    ended_after: float = 0.0
    before: Callable[[], None] = lambda: None

    async def send(self, system: System, text: str, candidates: object = ()) -> Reply:
        self.before()
        call = Call(system, text)
        self.asked.append(call)
        what = self.always.get(system) or (self.script.pop(0) if self.script else "detailed")
        await asyncio.sleep(0.1 + len(self.asked) * 7 % 5)
        price = Decimal(what.removeprefix("price ")) if what.startswith("price ") else PRICE
        if what in BILLED or price is not PRICE:
            self.charged = total([self.charged, price])
        if what in ENDED or price is not PRICE:
            self.told.append(call)
        if what in ("detailed", "compact") or price is not PRICE:
            self.charged_and_told = total([self.charged_and_told, price])
        return _reply(what, price)


def _reply(what: str, price: Decimal) -> Reply:
    if what in PAGES:
        return Received(*PAGES[what])
    kind, _, seconds = what.partition(" for ")
    if kind in WAITS:
        status, page = WAITS[kind]
        return Received(status, {"retry-after": seconds}, page)
    match what:
        case "lost":
            return Lost("TIMEOUT", "no answer")
        case "not sent":
            return NotSent("CONNECTION_ERROR", "refused")
        case "limited":
            return Received(429, {}, b"")
        case "unreadable":
            return Received(200, {}, b"{")
        case "internal" | "refused" | "no such address" | "unauthorized":
            status, error = FAILURES[what]
            return Received(status, {}, _failure(error))
    metadata = {
        "compact": f'{{"cost": {{"apiCost": {price}}}}}',
        "silent": "{}",
    }.get(what, f'{{"costBreakdown": {{"finalCost": {price}, "currency": "USD"}}}}')
    body = f'{{"success": true, "message": "", "data": [], "metadata": {metadata}}}'
    return Received(200, {}, body.encode())


def _failure(error: str) -> bytes:
    return json.dumps({"success": False, "error": error, "message": ""}).encode()


def orders(job: LedgerJob, texts: Sequence[str], most: int) -> Iterator[CallToBuy]:
    """Yield what is still to be bought, as a purchase does."""
    for text in dict.fromkeys(texts):
        digest = text_digest(text)
        losses = most - job.unconfirmed("cpv", [digest]).get(digest, 0)
        if losses > 0 and not job.responses("cpv", [digest]):
            yield CallToBuy(Call("cpv", text), losses)


def buy(
    server: ModelServer,
    job: LedgerJob,
    wanted: list[CallToBuy],
    *,
    workers: int = 1,
    stop_after: float | None = None,
    rate: Rate | None = None,
    wait: bool = True,
    max_cost: Decimal | None = None,
    max_price: Decimal = MAX_PRICE,
    highest: Decimal | None = None,
    longest_pause: float = math.inf,
    systems: Sequence[System] = (),
    advance: Count | None = None,
) -> Pool:
    """Buy calls from a server in virtual time; ``advance`` is a display of the progress."""

    async def main() -> Pool:
        progress = RunProgress(
            throttle=Throttle(rate),
            budget=Budget(Decimal(0), max_cost, highest),
            systems={*systems} or {order.call.system for order in wanted},
            wait=wait,
            max_price=max_price,
            longest_pause=longest_pause,
            is_address_right=job.was_answered(),
        )
        pool = Pool(cast(Client, server), Journal(job, FINGERPRINT), progress, len(wanted))
        if stop_after is not None:
            asyncio.get_running_loop().call_later(stop_after, pool.park, STOP)
        began = asyncio.get_running_loop().time()
        with show_progress(pool, advance) if advance else nullcontext():
            await pool.run(iter(wanted), workers)
        server.ended_after = asyncio.get_running_loop().time() - began
        return pool

    with asyncio.Runner(loop_factory=InlineLoop) as runner:
        return runner.run(main())


def in_all_systems(count: int) -> list[CallToBuy]:
    """Return the calls of so many rows, row by row."""
    return [CallToBuy(Call(system, f"text {row}"), 2) for row in range(count) for system in SYSTEMS]


def numbered(count: int) -> list[CallToBuy]:
    return [CallToBuy(Call("cpv", f"text {number}"), 2) for number in range(count)]
