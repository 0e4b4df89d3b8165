"""How many requests are taken in which time: an exact sliding window for each caller, in memory.

The `limits` library keeps the windows. It goes by the time of day, so after a clock was set back
a caller waits for that much longer.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from ipaddress import IPv4Address, IPv6Address, ip_address
from threading import Lock, Timer

from limits import RateLimitItemPerSecond
from limits.storage import MemoryStorage
from limits.storage.memory import Entry
from limits.strategies import MovingWindowRateLimiter

from pipeline.errors import SettingsError
from pipeline.rate import Rate

__all__ = ["SlidingWindow", "network_of"]

SOON = 0.001
"""Seconds to wait when a window is over this very moment."""

HOUSE = 64
"""Bits of an IPv6 address that a house or an office has for itself (RFC 6177 gives no less)."""


class SlidingWindow:
    """Takes no more requests of a caller than a rate allows, in any window of its length.

    Args:
        rate: the limit; None for no limit.

    Raises:
        SettingsError: the window is not a number of whole seconds, as the library wants it.
    """

    def __init__(self, rate: Rate | None) -> None:
        self._item = None if rate is None else _item(rate)
        self._callers = _Callers()
        self._limiter = MovingWindowRateLimiter(self._callers)
        self._lock = Lock()

    def wait(self, caller: object) -> float:
        """Take a request and return 0, or return the seconds until one would be taken.

        A request that is not taken does not count.
        """
        if self._item is None:
            return 0.0
        name = str(caller)
        with self._lock:
            if self._limiter.hit(self._item, name):
                return 0.0
            reset, left = self._limiter.get_window_stats(self._item, name)
        return SOON if left else max(SOON, reset - time.time())

    def give_back(self, caller: object) -> None:
        """Let the last request that was taken of a caller not count."""
        if self._item is not None:
            with self._lock:
                self._callers.release(self._item.key_for(str(caller)))

    def __len__(self) -> int:
        """Return how many callers are remembered."""
        return len(self._callers.events)


def network_of(address: str) -> str:
    """Return whom requests from an address are counted for.

    One who has an IPv6 address has 2**64 of them, so those count together. What is no address,
    such as a proxy may pass on, is one and the same caller.
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return ""
    match parsed:
        case IPv6Address(ipv4_mapped=IPv4Address() as mapped):
            return str(mapped)
        case IPv6Address():
            return str(IPv6Address(int(parsed) >> HOUSE << HOUSE))
        case IPv4Address():
            return str(parsed)


class _Callers(MemoryStorage):
    """The library's storage, which forgets callers by and by.

    By itself it starts a thread for that, up to a hundred times a second, which goes through all
    callers and yet keeps their names for ever: of 20,000 whose windows were over, all were there.
    """

    def __init__(self) -> None:
        super().__init__()
        self.timer.cancel()
        self.timer = _Never()
        self._by_last: OrderedDict[str, list[Entry]] = OrderedDict()
        self.events = self._by_last

    def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Take a request of a caller, or refuse it; see the library."""
        self._forget()
        taken = super().acquire_entry(key, limit, expiry, amount)
        if taken:
            del self._by_last[key][limit:]
            self._by_last.move_to_end(key)
        return taken

    def release(self, key: str) -> None:
        """Forget the last request of a caller."""
        taken = self._by_last.get(key, [])
        del taken[:1]
        if not taken:
            self.clear(key)

    def _forget(self) -> None:
        """Drop the callers whose last request is over."""
        now = time.time()
        while self._by_last:
            caller, taken = next(iter(self._by_last.items()))
            if taken[0].expiry >= now:
                return
            self.clear(caller)


class _Never(Timer):
    """A thread that is said to run already, so that no other one is started."""

    def __init__(self) -> None:
        super().__init__(0, lambda: None)

    def is_alive(self) -> bool:
        """Say so."""
        return True


def _item(rate: Rate) -> RateLimitItemPerSecond:
    if rate.window % 1:
        raise SettingsError(
            f"The service cannot count in windows of {rate.window:g} seconds.",
            "Give --rate and --demo-rate a window of whole seconds, such as 100/min.",
        )
    return RateLimitItemPerSecond(rate.slots, int(rate.window))
