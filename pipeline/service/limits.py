"""How many requests are taken: an exact sliding window for each caller, in memory."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Hashable
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address

from pipeline.rate import Rate

SOON = 0.001
"""Seconds to wait when a window ends this very moment."""

NETWORK_BITS = 64
"""Bits of an IPv6 address that name a household or office (RFC 6177 assigns no less)."""


class SlidingWindow:
    """Takes at most as many requests of a caller as a rate allows, in any window of its length.

    Without a rate, there is no limit. It is used from one event loop.
    """

    def __init__(self, rate: Rate | None) -> None:
        self._rate = rate
        self._taken: OrderedDict[Hashable, deque[float]] = OrderedDict()  # by the last request

    def wait(self, caller: Hashable, requests: int = 1) -> float:
        """Take requests and return 0, or return the seconds until they would be taken.

        All are taken or none. There must not be more than the rate allows in a window; requests
        that are not taken do not count.
        """
        if self._rate is None:
            return 0.0
        now = time.monotonic()
        self._forget(now - self._rate.window)
        taken = self._taken.setdefault(caller, deque())
        while taken and taken[0] < now - self._rate.window:
            taken.popleft()
        if over := max(0, len(taken) + requests - self._rate.slots):
            return max(SOON, taken[over - 1] + self._rate.window - now)
        taken.extend([now] * requests)
        self._taken.move_to_end(caller)
        return 0.0

    def give_back(self, caller: Hashable) -> None:
        """Uncount the last request that was taken of a caller."""
        if taken := self._taken.get(caller):
            taken.pop()

    def _forget(self, before: float) -> None:
        """Drop the callers whose last request was before a time."""
        while self._taken:
            caller, taken = next(iter(self._taken.items()))
            if taken and taken[-1] >= before:
                return
            del self._taken[caller]


def network_of(address: str) -> str:
    """Return the caller that requests from an address count for.

    Whoever has an IPv6 address has 2**64 of them, so they count together. Anything that is not an
    address, which a proxy may pass on, is one and the same caller.
    """
    parsed = parse_address(address)
    if isinstance(parsed, IPv6Address):
        return str(IPv6Address(int(parsed) >> NETWORK_BITS << NETWORK_BITS))
    return "" if parsed is None else str(parsed)


@lru_cache(maxsize=100)  # each request asks for that of its client
def parse_address(text: str) -> IPv4Address | IPv6Address | None:
    """Return an address; None for anything else. An IPv4 one may be mapped to IPv6."""
    try:
        parsed = ip_address(text)
    except ValueError:
        return None
    mapped: IPv4Address | None = getattr(parsed, "ipv4_mapped", None)
    return mapped or parsed
