"""One call, from the key to the charge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.answers import Matched, Matcher, System
from pipeline.service.accounts import Accounts
from pipeline.service.bodies import Metadata, success
from pipeline.service.limits import SlidingWindow
from pipeline.service.pricing import price
from pipeline.service.refusals import (
    InsufficientBalanceError,
    RateLimitError,
    UnauthorizedError,
)

__all__ = ["Calls"]


@dataclass(frozen=True, slots=True)
class Calls:
    """Answers calls; every method may block, and any thread may call it.

    Attributes:
        matchers: who answers for each system.
        accounts: who pays.
        metadata: the form of the responses.
        key_limit: the limit of each account.
        demo_limit: the limit of each address without a key.
    """

    matchers: Mapping[System, Matcher]
    accounts: Accounts
    metadata: Metadata
    key_limit: SlidingWindow
    demo_limit: SlidingWindow

    def admit(self, key: str | None, address: str) -> int | None:
        """Return the account that a request counts for; None for a demo request.

        Raises:
            UnauthorizedError: there is a key, but it is nobody's.
            RateLimitError: there have been too many requests.
        """
        if key is None:
            if wait := self.demo_limit.wait(address):
                raise RateLimitError("Too many requests without a key.", wait)
            return None
        account = self.accounts.of_key(key)
        if account is None:
            raise UnauthorizedError("The API key is unknown or revoked. Send another X-API-Key.")
        if wait := self.key_limit.wait(account):
            raise RateLimitError("Too many requests of this account.", wait)
        return account

    def answer(self, account: int | None, system: System, description: str) -> bytes:
        """Find matches, charge for them and return the response's body.

        Raises:
            InsufficientBalanceError: the balance does not cover the price.
        """
        (answers,) = self.matchers[system].answers([[description]])
        (answer,) = answers[system]
        if not isinstance(answer, Matched):
            raise TypeError(f"the matcher of {system} gave {answer!r}")
        due = price(answer.matches)
        if not self.accounts.charge(account, system, due.final):
            raise InsufficientBalanceError(
                f"The balance does not cover the {due.final} USD of this call. Top it up."
            )
        return success(system, description, answer.matches, due, self.metadata)
