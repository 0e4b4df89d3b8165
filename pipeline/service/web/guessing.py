"""Bounds how often passwords can be guessed, and lets no guesser lock anybody else out."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from hashlib import sha256
from math import ceil
from typing import TypeAlias

import anyio

from pipeline.rate import Rate
from pipeline.service.accounts import one_way
from pipeline.service.limits import SlidingWindow, network_of

__all__ = ["ACCOUNT", "ADDRESS", "LINE", "PAIR", "PAUSE", "PasswordTries", "TooManyTriesError"]

PAIR, ADDRESS, ACCOUNT = Rate(10, 900), Rate(100, 900), Rate(100, 900)
"""Wrong passwords for one account from one address, from one address, and for one account."""

PAUSE, LINE = 2.0, 30.0
"""Seconds between two tries of an account that is being attacked, and the longest wait for one."""

Counted: TypeAlias = list[tuple[SlidingWindow, str]]


class TooManyTriesError(Exception):
    """A password is not looked at.

    Attributes:
        wait: seconds until one would be.
    """

    def __init__(self, wait: float) -> None:
        super().__init__(wait)
        self.wait = ceil(wait)


class PasswordTries:
    """Decides which passwords are looked at, and when.

    The policy, in windows of 15 minutes:

    1. Only wrong passwords count. One that is being looked at counts until it turns out right, so
       many at once are not one.
    2. For one account an address has 10 wrong passwords; then it must wait, for this account.
    3. For all accounts together an address has 100; then it must wait for all of them.
    4. An account has 100, from all addresses together. From then on its passwords are looked at
       one after the other, 2 seconds apart, wherever they come from. Who would wait for more than
       30 seconds is asked to come again. So guessing stays slow from however many addresses, and
       the owner gets in, if later: what others did shuts nobody out for the rest of the window.
    5. No open session ends, and API keys work as before. Whoever is logged in and changes the
       password tries the present one by the same rules.
    6. E-mail addresses without an account count as those with one, so nothing tells them apart.

    The address is the one that trusted proxies tell; a /64 of IPv6 is one address. Behind a proxy
    that is not trusted everybody has the proxy's, and can spend the others' tries.
    """

    def __init__(self) -> None:
        self._pair, self._address = SlidingWindow(PAIR), SlidingWindow(ADDRESS)
        self._account = SlidingWindow(ACCOUNT)
        self._next: dict[str, float] = {}

    async def account(
        self, email: str, address: str, look: Callable[[], Awaitable[int | None]]
    ) -> int | None:
        """Return whose password it is.

        Args:
            email: which account is tried.
            address: where the request comes from.
            look: gives the account if the password is right, else None.

        Raises:
            TooManyTriesError: it is not this one's turn.
        """
        name = sha256(one_way(email).encode()).hexdigest()  # whatever its length
        counted: Counted = []
        wrong = False
        try:
            await anyio.sleep(self._count(name, network_of(address), counted))
            account = await look()
            wrong = account is None
        finally:
            if not wrong:
                for window, caller in counted:
                    window.give_back(caller)
        return account

    def _count(self, name: str, network: str, counted: Counted) -> float:
        """Count a try; return the seconds to wait before it."""
        for window, caller in ((self._pair, f"{name} {network}"), (self._address, network)):
            if wait := window.wait(caller):
                raise TooManyTriesError(wait)
            counted.append((window, caller))
        if self._account.wait(name):
            return self._turn(name)
        counted.append((self._account, name))
        return 0.0

    def _turn(self, name: str) -> float:
        """Go to the end of the line for an account; return how long that takes."""
        now = time.monotonic()
        self._next = {each: at for each, at in self._next.items() if at > now}
        turn = self._next.get(name, now)
        if turn - now > LINE:
            raise TooManyTriesError(turn - now - LINE)
        self._next[name] = turn + PAUSE
        return turn - now
