"""What all pages use: the accounts, the calls, and the limits of one visitor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from math import ceil
from typing import TypeVar, TypeVarTuple

import anyio.to_thread
from anyio import CapacityLimiter

from pipeline.rate import Rate
from pipeline.service.accounts import Accounts
from pipeline.service.limits import SlidingWindow, network_of
from pipeline.service.matching.calls import Calls
from pipeline.service.spec.terms import Terms
from pipeline.service.web.guessing import PasswordTries
from pipeline.service.web.visitors import Visitor

__all__ = ["SIGN_UP", "Site"]

Result = TypeVar("Result")
Values = TypeVarTuple("Values")

SIGN_UP = Rate(20, 3600)
"""Sign-ups allowed from one address, including failed ones."""

AT_ONCE = 2
"""Passwords hashed at the same time: each takes 64 MiB and a core."""


@dataclass(frozen=True)
class Site:
    """What all pages use."""

    accounts: Accounts
    calls: Calls
    terms: Terms
    _tries: PasswordTries = field(default_factory=PasswordTries)
    _sign_ups: SlidingWindow = field(default_factory=lambda: SlidingWindow(SIGN_UP))
    _hashing: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(AT_ONCE))

    def recognise(self, visitor: Visitor) -> None:
        """Look up the account of a visitor's session; drop a session that has ended."""
        if visitor.session is None:
            return
        account = self.accounts.sessions.account_of(visitor.session)
        if account is None:
            visitor.end()
        else:
            visitor.enter(account)

    async def account_of(self, visitor: Visitor, email: str, password: str) -> int | None:
        """Return the account that an e-mail address and password belong to; None if wrong.

        Raises:
            TooManyTriesError: see `PasswordTries`.
        """
        look = partial(self.hashing, self.accounts.log_in, email, password)
        return await self._tries.account(email, visitor.address, look)

    def wait_for_sign_up(self, visitor: Visitor) -> int:
        """Count a sign-up; return the seconds to wait if there were too many."""
        return ceil(self._sign_ups.wait(network_of(visitor.address)))

    async def hashing(self, work: Callable[[*Values], Result], *values: *Values) -> Result:
        """Run work that hashes a password in a thread, a few at once."""
        return await anyio.to_thread.run_sync(work, *values, limiter=self._hashing)
