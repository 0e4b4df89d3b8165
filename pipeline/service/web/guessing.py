"""Limits password guessing without letting a guesser lock out anyone else."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from hashlib import sha256
from math import ceil
from typing import TypeAlias

import anyio

from pipeline.rate import Rate
from pipeline.service.accounts import canonical_email
from pipeline.service.limits import SlidingWindow, network_of

__all__ = ["ACCOUNT", "ADDRESS", "LINE", "PAIR", "PAUSE", "PasswordTries", "TooManyTriesError"]

PAIR, ADDRESS, ACCOUNT = Rate(10, 900), Rate(100, 900), Rate(100, 900)
"""Wrong passwords allowed: per account and address, per address, and per account."""

PAUSE, LINE = 2.0, 30.0
"""Seconds between two attempts on an account under attack, and the longest wait for a turn."""

Counted: TypeAlias = list[tuple[SlidingWindow, str]]


class TooManyTriesError(Exception):
    """Too many wrong passwords: this one is not checked.

    Attributes:
        wait: seconds until an attempt would be taken.
    """

    def __init__(self, wait: float) -> None:
        super().__init__(wait)
        self.wait = ceil(wait)


class PasswordTries:
    """Decides which passwords are checked, and when.

    The policy, in windows of 15 minutes:

    1. Only wrong passwords count. An attempt counts until its password turns out right, so that
       many at once are not taken for one.
    2. From one address, an account allows 10 wrong passwords.
    3. From one address, all accounts together allow 100.
    4. From all addresses together, an account allows 100. After that its passwords are checked
       one at a time, 2 seconds apart, wherever they come from; an attempt that would wait more
       than 30 seconds is refused. So guessing stays slow from any number of addresses, and the
       owner can still log in.
    5. Open sessions and API keys are not affected. The current password in the form to change it
       follows the same rules.
    6. E-mail addresses without an account count like those with one, so they look the same.

    The address is the one that trusted proxies report; a /64 of IPv6 is one address. Behind a proxy
    that is not trusted everybody shares the proxy's address and its attempts.
    """

    def __init__(self) -> None:
        self._pair, self._address = SlidingWindow(PAIR), SlidingWindow(ADDRESS)
        self._account = SlidingWindow(ACCOUNT)
        self._next: dict[str, float] = {}

    async def account(
        self, email: str, address: str, look: Callable[[], Awaitable[int | None]]
    ) -> int | None:
        """Return the account if `look` finds that the password is right, else None.

        Raises:
            TooManyTriesError: the password is not checked.
        """
        name = sha256(canonical_email(email).encode()).hexdigest()  # whatever its length
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
        """Count an attempt; return the seconds to wait before it."""
        for window, caller in ((self._pair, f"{name} {network}"), (self._address, network)):
            if wait := window.wait(caller):
                raise TooManyTriesError(wait)
            counted.append((window, caller))
        if self._account.wait(name):
            return self._turn(name)
        counted.append((self._account, name))
        return 0.0

    def _turn(self, name: str) -> float:
        """Join the queue of an account; return the seconds until its turn."""
        now = time.monotonic()
        self._next = {each: at for each, at in self._next.items() if at > now}
        turn = self._next.get(name, now)
        if turn - now > LINE:
            raise TooManyTriesError(turn - now - LINE)
        self._next[name] = turn + PAUSE
        return turn - now
