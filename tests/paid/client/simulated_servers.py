"""The ways in which servers keep a limit."""

from __future__ import annotations

from collections import deque
from typing import TypeAlias

from pipeline.rate import Rate


class SlidingWindow:
    """Refuses what would be too many since a window ago."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._admitted: deque[float] = deque()

    def admits(self, now: float) -> bool:
        while self._admitted and self._admitted[0] <= now - self._rate.window:
            self._admitted.popleft()
        if len(self._admitted) >= self._rate.slots:
            return False
        self._admitted.append(now)
        return True


class FixedWindow:
    """Starts counting again at each full minute, or whatever its window is."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._window, self._count = -1, 0

    def admits(self, now: float) -> bool:
        if self._window != now // self._rate.window:
            self._window, self._count = int(now // self._rate.window), 0
        self._count += 1
        return self._count <= self._rate.slots


class TokenBucket:
    """Holds as many tokens as the limit, and gets one back at even intervals."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._tokens, self._filled = float(rate.slots), 0.0

    def admits(self, now: float) -> bool:
        new = (now - self._filled) * self._rate.slots / self._rate.window
        self._tokens, self._filled = min(float(self._rate.slots), self._tokens + new), now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True


Server: TypeAlias = SlidingWindow | FixedWindow | TokenBucket
SERVERS: tuple[type[Server], ...] = (SlidingWindow, FixedWindow, TokenBucket)
