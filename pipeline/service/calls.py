"""Answers calls: checks the key and the limit, finds matches, charges the price."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeAlias, TypeVar

from pipeline.answers import Answer, Match, Matched, Matcher, System
from pipeline.money import plain, total
from pipeline.rate import Rate
from pipeline.service.accounts import Accounts, Due, Holder
from pipeline.service.errors import SCHEME, RateLimitError, RefusedError
from pipeline.service.limits import SlidingWindow, network_of
from pipeline.service.pricing import Price, free, price

Item = TypeVar("Item")
Result = TypeVar("Result")


class Batches(Generic[Item, Result]):
    """Hands items to blocking work, in a thread, one batch after the other.

    Items that arrive during a batch go into the next one. So a single caller never waits, and many
    callers share the costs that do not grow with the number of items.

    Callers that ask again as soon as they are answered would split into two groups that take turns.
    So a batch waits until as many items are there as the last one left and answered, but only for
    half the time that the last one took: a caller may not ask again.

    Args:
        work: takes items and returns their results, in the same order.
        most: the maximum size of a batch.
    """

    def __init__(self, work: Callable[[Sequence[Item]], Sequence[Result]], most: int) -> None:
        self._work = work
        self._most = most
        self._waiting: deque[tuple[Item, asyncio.Future[Result]]] = deque()
        self._working: asyncio.Task[None] | None = None
        self._expected, self._until = 0, 0.0
        self._all_there = asyncio.Event()

    async def result(self, item: Item) -> Result:
        """Return the result of an item, or raise the error of its batch."""
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, future))
        if len(self._waiting) >= self._expected:
            self._all_there.set()
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work_off())
        return await future

    async def _work_off(self) -> None:
        now = asyncio.get_running_loop().time
        while self._waiting:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(self._until):
                    await self._all_there.wait()
            started = now()
            count = min(self._most, len(self._waiting))
            items, futures = zip(*(self._waiting.popleft() for _ in range(count)), strict=True)
            try:
                results = await asyncio.to_thread(self._work, items)
                for future, result in zip(futures, results, strict=True):
                    if not future.done():  # else its caller has gone
                        future.set_result(result)
            except Exception as error:  # for all callers that still wait
                for future in futures:
                    if not future.done():
                        future.set_exception(error)
            self._expected = min(self._most, len(self._waiting) + count)
            self._until = now() + (now() - started) / 2
            if len(self._waiting) < self._expected:
                self._all_there.clear()


Question: TypeAlias = tuple[System, str]
"""A system and a text."""

MOST_TEXTS = 256
"""Calls scored together. In the mix, 256 took 0.54 times the processor time a call of 64."""

MOST_ANSWERS = 1.5
"""Answers that are found for each asked one if that lets all systems read the same texts."""

MOST_CHARGES = 500
"""Requests whose charges are committed together."""


def answer_questions(
    matchers: Mapping[System, Matcher], questions: Sequence[Question]
) -> list[Answer | None]:
    """Return the answers to questions, in their order, from the matcher of each system.

    The engine reads a list of texts once for all systems that get the same list. So if most texts
    are asked of all systems, all of them get every text.
    """
    asked: dict[System, dict[str, None]] = {}
    for system, text in questions:
        asked.setdefault(system, {})[text] = None
    every = dict.fromkeys(text for _, text in questions)
    if len(every) * len(asked) <= MOST_ANSWERS * sum(map(len, asked.values())):
        asked = dict.fromkeys(asked, every)
    by_question: dict[Question, Answer | None] = {}
    for system, texts in asked.items():
        (answers,) = matchers[system].answers([list(texts)])
        by_question |= {
            (system, text): answer for text, answer in zip(texts, answers[system], strict=True)
        }
    return [by_question[question] for question in questions]


@dataclass(frozen=True, slots=True)
class Answered:
    """A successful call: its matches, the best first, and its price."""

    matches: tuple[Match, ...]
    price: Price


class Calls:
    """Answers calls within the limits of `Terms`; used from one event loop."""

    def __init__(
        self,
        matchers: Mapping[System, Matcher],
        accounts: Accounts,
        key_rate: Rate | None,
        demo_rate: Rate | None,
    ) -> None:
        self._accounts = accounts
        self._key_limit = SlidingWindow(key_rate)
        self._demo_limit = SlidingWindow(demo_rate)
        self._matching = Batches(partial(answer_questions, matchers), MOST_TEXTS)
        self._charging = Batches(accounts.statement.charge, MOST_CHARGES)

    def holder(self, key: str | None) -> Holder | None:
        """Return the holder of a request's key; None without a key.

        Raises:
            RefusedError: the key is unknown or revoked.
        """
        if key is None:
            return None
        holder = self._accounts.keys.holder(key)
        if holder is None:
            raise RefusedError(
                "The API key is unknown or revoked. Send another X-API-Key.",
                401,
                {"WWW-Authenticate": SCHEME},  # RFC 9110, 15.5.2, asks for it
            )
        return holder

    def count(self, holder: Holder | None, address: str, calls: int = 1) -> None:
        """Count the calls of a request for its account or, without one, for its address.

        Raises:
            RateLimitError: the limit is reached.
        """
        if holder is None:
            if wait := self._demo_limit.wait(network_of(address), calls):
                raise RateLimitError("Too many requests without a key.", wait)
        elif wait := self._key_limit.wait(holder.account_id, calls):
            raise RateLimitError("Too many requests of this account.", wait)

    async def answer(self, holder: Holder | None, system: System, description: str) -> Answered:
        """Find matches and charge for them; a call without an account is free.

        Raises:
            RefusedError: the balance does not cover the price.
        """
        (answered,) = await self.answer_all(holder, system, [description])
        return answered

    async def answer_all(
        self, holder: Holder | None, system: System, descriptions: Sequence[str]
    ) -> list[Answered]:
        """Answer the calls of one request, and charge for all of them or for none.

        Without an account nothing is charged, so the price is 0: it states what is paid.

        Raises:
            RefusedError: the balance does not cover the prices.
        """
        if len(descriptions) == 1:  # the usual case needs no tasks
            answered = [await self._answered(system, descriptions[0])]
        else:
            answering = (self._answered(system, text) for text in descriptions)
            answered = await asyncio.gather(*answering)
        if holder is None:
            return [Answered(answer.matches, free(answer.matches)) for answer in answered]
        if not answered:
            return []
        dues = [
            Due(holder.account_id, holder.key_id, system, answer.price.final) for answer in answered
        ]
        if not await self._charging.result(dues):
            calls = "this call" if len(dues) == 1 else f"these {len(dues)} calls"
            usd = total(due.price_usd for due in dues)
            raise RefusedError(
                f"The balance does not cover the {plain(usd)} USD of {calls}. Ask the operator to "
                "top it up.",
                402,
            )
        return answered

    async def _answered(self, system: System, description: str) -> Answered:
        answer = await self._matching.result((system, description))
        if not isinstance(answer, Matched):
            raise TypeError(f"the matcher of {system} gave {answer!r}")
        return Answered(answer.matches, price(answer.matches))
