"""Remembers what a function returned for texts that many rows repeat, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

__all__ = ["MOST_BYTES", "Remembered"]

T = TypeVar("T")

MOST_BYTES = 8 << 20
"""How much memory the texts of one function may take: about 40,000 texts of 100 characters."""

ENTRY_BYTES = 100
"""What an entry takes beside the characters of its text."""


class Remembered(dict[str, T]):
    """The results of a function; ``remembered[text]`` calls it for texts that are not among them.

    When the texts become too many, all are forgotten.

    Args:
        function: returns the result for a text, which takes no more memory than the text.
        most_bytes: the memory that they may take.
    """

    def __init__(self, function: Callable[[str], T], most_bytes: int = MOST_BYTES) -> None:
        super().__init__()
        self._function = function
        self._most = most_bytes
        self._bytes = 0

    def __missing__(self, text: str) -> T:
        """Call the function and remember its result."""
        if self._bytes > self._most:
            self.clear()
            self._bytes = 0
        self._bytes += len(text) + ENTRY_BYTES
        self[text] = result = self._function(text)
        return result
