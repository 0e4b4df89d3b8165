"""Two hundred calls at once, and a balance that covers fifty: fifty are answered."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from itertools import cycle, islice

import aiohttp

from benchmarks.texts import made_texts
from pipeline.answers import Matched, System
from pipeline.engine import Engine
from pipeline.money import ZERO
from pipeline.service.pricing import price
from tests.money_trail import agree, statement_adds_up
from tests.service.processes import Serving
from tests.service.rehearsal.conftest import NewCustomer
from tests.service.rehearsal.customer import Customer

CALLS, COVERED = 200, 50

LEFT = Decimal("0.00003")
"""Not enough for another call."""

Ask = tuple[System, str]
"""A system and the key that it is asked with."""


def test_two_hundred_calls_at_once_of_two_systems_and_keys_share_one_balance(
    server: Serving, new_customer: NewCustomer
) -> None:
    text, usd = alike_in(("cpv", "psc"))
    customer = new_customer(server.folder, COVERED * usd + LEFT)
    assert customer.key is not None
    keys = [customer.key, customer.accounts.keys.make(customer.account, "second").key]
    asks: list[Ask] = [(system, key) for system in ("cpv", "psc") for key in keys]
    answers, seen = at_once(server, customer, text, list(islice(cycle(asks), CALLS)))
    exactly_fifty_paid(customer, answers, seen, usd)
    used = {key.key_id for key in customer.accounts.keys.of(customer.account)}
    assert {entry.key_id for entry in customer.charges()} <= used
    assert {entry.system for entry in customer.charges()} <= {"cpv", "psc"}


def alike_in(systems: Sequence[System]) -> tuple[str, Decimal]:
    """Return a text whose answers cost the same in some systems, with the price."""
    texts = made_texts(500)
    (answers,) = Engine(systems, 10).answers([texts])
    for place, text in enumerate(texts):
        of_text = [answers[system][place] for system in systems]
        prices = {price(one.matches).final for one in of_text if isinstance(one, Matched)}
        if len(prices) == 1:
            return text, prices.pop()
    raise AssertionError


def at_once(
    server: Serving, customer: Customer, text: str, asks: Sequence[Ask]
) -> tuple[list[tuple[int, str]], list[Decimal]]:
    """Send all calls together; return status and error of each, and the balances meanwhile."""

    async def ask(session: aiohttp.ClientSession, system: System, key: str) -> tuple[int, str]:
        url, headers = f"{server.address}/api/{system}/match", {"X-API-Key": key}
        async with session.post(url, json={"description": text}, headers=headers) as answer:
            return answer.status, (await answer.json()).get("error", "")

    async def watch(seen: list[Decimal]) -> None:
        while True:
            seen.append(await asyncio.to_thread(lambda: customer.balance))

    async def all_of_them() -> tuple[list[tuple[int, str]], list[Decimal]]:
        seen: list[Decimal] = []
        watching = asyncio.create_task(watch(seen))
        connector = aiohttp.TCPConnector(limit=len(asks))
        async with aiohttp.ClientSession(connector=connector) as session:
            answers = await asyncio.gather(*(ask(session, *one) for one in asks))
        watching.cancel()
        return answers, seen

    return asyncio.run(all_of_them())


def exactly_fifty_paid(
    customer: Customer, answers: Sequence[tuple[int, str]], seen: Sequence[Decimal], usd: Decimal
) -> None:
    """Say what must be so afterwards, and was all the time."""
    assert Counter(answers) == {
        (200, ""): COVERED,
        (402, "INSUFFICIENT_BALANCE"): CALLS - COVERED,
    }
    assert customer.balance == LEFT
    assert [entry.price_usd for entry in customer.charges()] == [usd] * COVERED
    agree(statement_adds_up(customer.entries(), customer.balance))
    assert seen
    assert min(seen) >= LEFT > ZERO
    assert list(seen) == sorted(seen, reverse=True)
