"""Remembers what a function returned for texts that many rows repeat, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

__all__ = ["MOST_BYTES", "Remembered"]

T = TypeVar("T")

MOST_BYTES = 8 << 20
"""How much memory the texts of one function may take: about 40,000 texts of 100 characters."""

ENTRY_BYTES = 100
"""What an entry takes beside the characters of its text."""


class Remembered(Generic[T]):
    """A function of texts, called once for texts that rows share, unless they are far apart.

    When the texts become too many, all are forgotten. The function takes many texts at once,
    because most of the time of a call for each text would go into the call itself.

    Args:
        function: returns the result for each text; one takes no more memory than its text.
        most_bytes: the memory that the texts may take.
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
