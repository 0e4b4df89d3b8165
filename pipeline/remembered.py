"""Caches the results of a function of texts that many rows repeat, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

__all__ = ["MOST_BYTES", "Remembered"]

T = TypeVar("T")

MOST_BYTES = 8 << 20
"""The memory for the cached texts of one function: about 40,000 texts of 100 characters."""

ENTRY_BYTES = 100
"""What an entry takes besides the characters of its text."""


class Remembered(Generic[T]):
    """A function of texts with a cache: rows that share a text share a call.

    When the cached texts take too much memory, all are dropped, so a text that returns much later
    is computed again. The function takes many texts at once, because with a call for each text,
    most of the time would go into the calls.

    Args:
        function: returns the result for each text; a result takes no more memory than its text.
        most_bytes: the memory for the cached texts.
    """

    def __init__(
        self, function: Callable[[Sequence[str]], Iterable[T]], most_bytes: int = MOST_BYTES
    ) -> None:
        self._function = function
        self._most = most_bytes
        self._bytes = 0
        self._known: dict[str, T] = {}

    def __call__(self, texts: Sequence[str]) -> list[T]:
        """Return the result for each text."""
        if self._bytes > self._most:
            self._known.clear()
            self._bytes = 0
        known = self._known
        if new := [*{*texts}.difference(known)]:
            self._bytes += sum(map(len, new)) + ENTRY_BYTES * len(new)
            known.update(zip(new, self._function(new), strict=True))
        return [*map(known.__getitem__, texts)]
