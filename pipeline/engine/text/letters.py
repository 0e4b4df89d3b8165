"""Finds words with a faster pattern in texts that are ASCII, as most folded sentences are."""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["Words"]

LETTER, LETTER_OR_DIGIT = r"[^\W\d_]", r"[^\W_]"


class Words:
    """A pattern that matches letters of any script.

    Args:
        pattern: a regular expression without groups, for texts in lower case.
    """

    def __init__(self, pattern: str) -> None:
        ascii_only = pattern.replace(LETTER, "[a-z]").replace(LETTER_OR_DIGIT, "[a-z0-9]")
        self._any = re.compile(pattern)
        self._ascii = re.compile(ascii_only, re.ASCII)

    def findall(self, text: str) -> list[str]:
        """Return the matches in a text."""
        return (self._ascii if text.isascii() else self._any).findall(text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the matches in a text."""
        return (self._ascii if text.isascii() else self._any).finditer(text)
