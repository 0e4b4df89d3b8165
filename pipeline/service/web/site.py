"""What all pages work with, and how much of it one visitor gets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar, TypeVarTuple

import anyio.to_thread
from anyio import CapacityLimiter
from starlette.requests import Request

from pipeline.rate import Rate
from pipeline.service.accounts import Accounts
from pipeline.service.limits import SlidingWindow
from pipeline.service.matching.calls import Calls
from pipeline.service.spec.terms import Terms
from pipeline.service.web.guessing import PasswordTries
from pipeline.service.web.visitors import Visitor

__all__ = ["SIGN_UP", "Site", "address_of"]

Result = TypeVar("Result")
Values = TypeVarTuple("Values")

SIGN_UP = Rate(20, 3600)
"""The accounts that an address may open, or try to."""

AT_ONCE = 2
"""Passwords hashed at the same time: each takes 64 MiB and a core."""


@dataclass(frozen=True)
class Site:
    """What all pages work with.

    Attributes:
        accounts: whose pages they are.
        calls: answers what is tried.
        terms: how the deployment is set, to be told.
        tries: how often passwords may be tried.
        sign_ups: how often accounts may be opened.
    """

    accounts: Accounts
    calls: Calls
    terms: Terms
    tries: PasswordTries = field(default_factory=PasswordTries)
    sign_ups: SlidingWindow = field(default_factory=lambda: SlidingWindow(SIGN_UP))
    _hashing: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(AT_ONCE))

    def recognise(self, visitor: Visitor) -> None:
        """Look up whose session a visitor has; one that is over is taken away."""
        if visitor.session is not None:
            visitor.account_id = self.accounts.sessions.account_of(visitor.session)
            if visitor.account_id is None:
                visitor.end()

    async def hashing(self, work: Callable[[*Values], Result], *values: *Values) -> Result:
        """Do something with a password, in a thread, and not too much of it at once."""
        return await anyio.to_thread.run_sync(work, *values, limiter=self._hashing)


def address_of(request: Request) -> str:
    """Return the address that a request comes from."""
    return request.client.host if request.client else ""
