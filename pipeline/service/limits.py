"""How many requests are taken in which time: a log of each caller's last ones.

The `limits` library has such a window too, but reads the time of day itself, which can jump.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from threading import Lock

from pipeline.rate import Rate

__all__ = ["SlidingWindow"]


class SlidingWindow:
    """Takes no more requests of a caller than a rate allows, in any window of its length.

    Args:
        rate: the limit; None for no limit.
        clock: gives seconds that never run backwards.
    """

    def __init__(self, rate: Rate | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._clock = clock
        self._lock = Lock()
        self._taken: dict[object, deque[float]] = {}  # who was taken last stands last

    def wait(self, caller: object) -> float:
        """Take a request and return 0, or return the seconds until one would be taken.

        A request that is not taken does not count.
        """
        if self._rate is None:
            return 0.0
        with self._lock:
            now = self._clock()
            self._forget(now - self._rate.window)
            times = self._taken.get(caller, deque())
            while times and times[0] <= now - self._rate.window:
                times.popleft()
            if len(times) >= self._rate.slots:
                return times[0] + self._rate.window - now
            times.append(now)
            self._taken.pop(caller, None)
            self._taken[caller] = times
            return 0.0

    def _forget(self, before: float) -> None:
        """Drop the callers whose last request is over, so that they do not pile up."""
        while self._taken:
            caller, times = next(iter(self._taken.items()))
            if times[-1] > before:
                return
            del self._taken[caller]
