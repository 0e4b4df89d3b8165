"""Finds words with a faster pattern in texts that are ASCII, as most folded sentences are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

__all__ = ["Words"]

LETTER, LETTER_OR_DIGIT = r"[^\W\d_]", r"[^\W_]"


class Words:
    """A pattern that matches letters of any script.

    Args:
        pattern: a regular expression without groups, for texts in lower case.
    """

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern

    @cached_property
    def _any(self) -> re.Pattern[str]:
        return re.compile(self._pattern)

    @cached_property
    def _ascii(self) -> re.Pattern[str]:
        ascii_only = self._pattern.replace(LETTER, "[a-z]").replace(LETTER_OR_DIGIT, "[a-z0-9]")
        return re.compile(ascii_only, re.ASCII)

    def findall(self, text: str) -> list[str]:
        """Return the matches in a text."""
        return (self._ascii if text.isascii() else self._any).findall(text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the matches in a text."""
        return (self._ascii if text.isascii() else self._any).finditer(text)
