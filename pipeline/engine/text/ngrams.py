"""Hashes many words and their character n-grams at once, with CRC-32.

CRC-32 is linear: the hash of a string is the exclusive or of a value for each byte, which depends
on the byte and on how many bytes follow, and of a value for the length. So all n-grams of one
length take a few operations on whole arrays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from itertools import repeat
from typing import TypeAlias
from zlib import crc32

import numpy as np
import numpy.typing as npt

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


Hashes: TypeAlias = npt.NDArray[np.uint32]
Places: TypeAlias = npt.NDArray[np.intp]

MARK = crc32(b"=")


def word_hashes(words: Sequence[str]) -> Hashes:
    """Return the hash of each word with "=" before it."""
    return np.fromiter(map(crc32, map(str.encode, words), repeat(MARK)), np.uint32, len(words))


def gram_hashes(words: Sequence[str], lengths: Sequence[int]) -> tuple[Hashes, Places]:
    """Return the hashes of the n-grams of words, which are put between "<" and ">" first.

    Args:
        words: the words.
        lengths: how many characters the n-grams have.

    Returns:
        The hashes, those of each length together, and the index in ``words`` of the word of each.
    """
    text = "".join([f"<{word}>" for word in words])
    sizes = np.fromiter(map(len, words), np.intp, len(words)) + 2
    owners = np.repeat(np.arange(len(words)), sizes)
    left = np.repeat(np.cumsum(sizes), sizes) - np.arange(len(text))  # characters of the word
    grams = _Grams(text)
    begins = [np.flatnonzero(left >= length) for length in lengths]
    hashes = [grams.hashes(length)[each] for length, each in zip(lengths, begins, strict=True)]
    return np.concatenate(hashes), owners[np.concatenate(begins)]


class _Grams:
    """The n-grams that begin at each character of a text."""

    def __init__(self, text: str) -> None:
        data = np.frombuffer(text.encode(), np.uint8)
        self._size = len(data)
        self._values = cache(lambda following: _values(following).take(data))
        starts = np.flatnonzero(data & 0xC0 != 0x80)  # no inner bytes of UTF-8
        self._starts = np.append(starts, len(data))

    def hashes(self, length: int) -> Hashes:
        """Return the hash of each n-gram; an arbitrary one where the text ends before it."""
        first = self._starts[:-length]
        sizes = self._starts[length:] - first
        found = np.zeros(len(self._starts) - 1, np.uint32)
        found[: len(first)] = self._of_bytes(length).take(first, mode="clip")
        for size in np.flatnonzero(np.bincount(sizes)[length + 1 :]) + length + 1:
            longer = np.flatnonzero(sizes == size)  # in other scripts than Latin
            found[longer] = self._at(first[longer], int(size))
        return found

    def _of_bytes(self, size: int) -> Hashes:
        """Return the hash of so many bytes from each byte on."""
        found = np.full(max(0, self._size - size + 1), crc32(bytes(size)), np.uint32)
        for place in range(size):
            found ^= self._values(size - 1 - place)[place : place + len(found)]
        return found

    def _at(self, starts: Places, size: int) -> Hashes:
        found = np.full(len(starts), crc32(bytes(size)), np.uint32)
        for place in range(size):
            found ^= self._values(size - 1 - place)[starts + place]
        return found


@cache
def _values(following: int) -> Hashes:
    """Return the value of each byte if so many bytes follow it."""
    zeros = bytes(following)
    every = (crc32(bytes([byte]) + zeros) for byte in range(256))
    return np.fromiter(every, np.uint32, 256) ^ np.uint32(crc32(bytes(1) + zeros))
