"""Answers one call: checks its key and limit, finds matches, charges the price."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from pipeline.answers import Match, Matched, Matcher, System
from pipeline.rate import Rate
from pipeline.service.accounts import Accounts, Due, Holder
from pipeline.service.errors import (
    InsufficientBalanceError,
    RateLimitError,
    UnauthorizedError,
)
from pipeline.service.limits import SlidingWindow, network_of
from pipeline.service.matching.batches import Batches
from pipeline.service.matching.matching import answers_to
from pipeline.service.matching.pricing import Price, price

__all__ = ["Answered", "Calls"]

MOST_TEXTS = 64
"""Texts scored together; larger batches take as long per text."""

MOST_CHARGES = 500
"""Charges committed together."""


@dataclass(frozen=True, slots=True)
class Answered:
    """A successful call: its matches, the best first, and its price."""

    matches: tuple[Match, ...]
    price: Price


class Calls:
    """Answers calls; used from one event loop.

    Args:
        matchers: the matcher of each system.
        accounts: the accounts that may call and pay.
        key_rate: the limit of each account; None for no limit.
        demo_rate: the limit of each address without a key; None for no limit.
    """

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
        self._matching = Batches(partial(answers_to, matchers=matchers), MOST_TEXTS)
        self._charging = Batches(accounts.statement.charge, MOST_CHARGES)

    def holder(self, key: str | None) -> Holder | None:
        """Return the holder of a request's key; None without a key.

        Raises:
            UnauthorizedError: the key is unknown or revoked.
        """
        if key is None:
            return None
        holder = self._accounts.keys.holder(key)
        if holder is None:
            raise UnauthorizedError("The API key is unknown or revoked. Send another X-API-Key.")
        return holder

    def count(self, holder: Holder | None, address: str) -> None:
        """Count a request for its account or, without one, for its address.

        Raises:
            RateLimitError: the limit is reached.
        """
        if holder is None:
            if wait := self._demo_limit.wait(network_of(address)):
                raise RateLimitError("Too many requests without a key.", wait)
        elif wait := self._key_limit.wait(holder.account_id):
            raise RateLimitError("Too many requests of this account.", wait)

    async def answer(self, holder: Holder | None, system: System, description: str) -> Answered:
        """Find matches and charge for them; a call without an account is free.

        Raises:
            InsufficientBalanceError: the balance does not cover the price.
        """
        answer = await self._matching.result((system, description))
        if not isinstance(answer, Matched):
            raise TypeError(f"the matcher of {system} gave {answer!r}")
        due = price(answer.matches)
        if holder is not None and not await self._charging.result(
            Due(holder.account_id, holder.key_id, system, due.final)
        ):
            raise InsufficientBalanceError(
                f"The balance does not cover the {due.final} USD of this call. Top it up."
            )
        return Answered(answer.matches, due)
