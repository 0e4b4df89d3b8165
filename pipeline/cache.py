"""Caches the results of a function for what many rows repeat, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

K = TypeVar("K", bound=str | bytes)
T = TypeVar("T")

MOST_BYTES = 8 << 20
"""The memory of a cache: about 40,000 texts of 100 characters."""

ENTRY_BYTES = 100
"""What an entry takes besides the characters of its key and its result."""


class Cache(Generic[K, T]):
    """A function of texts or digests with a cache: rows that share one share a call.

    When the entries take too much memory, all are dropped, so a text that returns much later is
    computed again. The function takes many texts at once, because with a call for each text, most
    of the time would go into the calls.

    Args:
        function: returns the result for each text.
        most_bytes: the memory for the entries.
        size: returns the memory of a result; None if it takes next to none beside its text.
    """

    def __init__(
        self,
        function: Callable[[Sequence[K]], Iterable[T]],
        most_bytes: int = MOST_BYTES,
        size: Callable[[T], int] | None = None,
    ) -> None:
        self._function = function
        self._most = most_bytes
        self._size = size
        self._bytes = 0
        self._known: dict[K, T] = {}

    def __call__(self, keys: Sequence[K]) -> list[T]:
        """Return the result for each text or digest."""
        if self._bytes > self._most:
            self._known.clear()
            self._bytes = 0
        known = self._known
        if new := [*{*keys}.difference(known)]:
            results = [*self._function(new)]
            self._bytes += ENTRY_BYTES * len(new) + sum(map(len, new))
            if self._size:
                self._bytes += sum(map(self._size, results))
            known.update(zip(new, results, strict=True))
        return [*map(known.__getitem__, keys)]
