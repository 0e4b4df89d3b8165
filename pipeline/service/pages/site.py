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
from pipeline.service.calls import Calls
from pipeline.service.limits import SlidingWindow
from pipeline.service.pages.visitors import Visitor
from pipeline.service.terms import Terms

__all__ = ["ACCOUNT", "LOG_IN", "SIGN_UP", "PageLimits", "Site", "address_of", "page_limits"]

Result = TypeVar("Result")
Values = TypeVarTuple("Values")

LOG_IN, ACCOUNT, SIGN_UP = Rate(30, 900), Rate(10, 900), Rate(20, 3600)
"""The usual limits, see `PageLimits`."""

AT_ONCE = 2
"""Passwords hashed at the same time: each takes 64 MiB and a core."""


@dataclass(frozen=True, slots=True)
class PageLimits:
    """How often passwords may be tried and accounts be opened.

    Attributes:
        log_in: tries of an address.
        account: tries of a password of one account, whoever makes them.
        sign_up: accounts that an address may open, or try to.
    """

    log_in: SlidingWindow
    account: SlidingWindow
    sign_up: SlidingWindow


def page_limits() -> PageLimits:
    """Return the usual limits."""
    return PageLimits(
        log_in=SlidingWindow(LOG_IN),
        account=SlidingWindow(ACCOUNT),
        sign_up=SlidingWindow(SIGN_UP),
    )


@dataclass(frozen=True)
class Site:
    """What all pages work with.

    Attributes:
        accounts: whose pages they are.
        calls: answers what is tried.
        terms: how the deployment is set, to be told.
        limits: how often passwords may be tried and accounts be opened.
    """

    accounts: Accounts
    calls: Calls
    terms: Terms
    limits: PageLimits = field(default_factory=page_limits)
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
