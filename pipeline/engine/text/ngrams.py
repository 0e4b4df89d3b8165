"""Hashes many words and their character n-grams at once, with CRC-32.

CRC-32 is linear: the hash of a string is the exclusive or of a value for each byte, which depends
on the byte and on how many bytes follow, and of a value for the length. So all n-grams of one
length take a few operations on whole arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import repeat
from typing import TypeAlias
from zlib import crc32

import numpy as np
import numpy.typing as npt

__all__ = ["Hashes", "gram_hashes", "word_hashes"]

Hashes: TypeAlias = npt.NDArray[np.uint32]

MARK = crc32(b"=")


def word_hashes(words: Sequence[str]) -> Hashes:
    """Return the hash of each word with "=" before it."""
    return np.fromiter(map(crc32, map(str.encode, words), repeat(MARK)), np.uint32, len(words))


def gram_hashes(
    words: Sequence[str], lengths: Sequence[int]
) -> tuple[Hashes, npt.NDArray[np.intp]]:
    """Return the hashes of the n-grams of words, which are put between "<" and ">" first.

    Args:
        words: the words.
        lengths: how many characters the n-grams have.

    Returns:
        The hashes, word by word, and the index in ``words`` of the word of each.
    """
    text = "".join([f"<{word}>" for word in words])
    sizes = np.fromiter(map(len, words), np.int32, len(words)) + 2
    follow = np.repeat(np.cumsum(sizes), sizes) - np.arange(len(text))
    fits = follow.astype(np.int32)[:, None] >= np.array(lengths, np.int32)
    counts = np.maximum(sizes[:, None] - np.array(lengths) + 1, 0).sum(axis=1)
    return _every_gram(text, lengths)[fits], np.repeat(np.arange(len(words)), counts)


def _every_gram(text: str, lengths: Sequence[int]) -> Hashes:
    """Return characters x lengths: the hash of the n-gram that begins at each character.

    Where the text ends before an n-gram does, the hash is arbitrary.
    """
    data = np.frombuffer(text.encode(), np.uint8)
    values = cache(lambda following: _values(following).take(data))
    starts = np.append(np.flatnonzero(data & 0xC0 != 0x80), len(data))  # no inner bytes of UTF-8
    hashes = np.zeros((len(starts) - 1, len(lengths)), np.uint32)
    for column, length in enumerate(lengths):
        first = starts[:-length]
        sizes = starts[length:] - first
        for size in np.flatnonzero(np.bincount(sizes)).tolist():
            found = np.full(len(data) - size + 1, crc32(bytes(size)), np.uint32)
            for place in range(size):
                found ^= values(size - 1 - place)[place : place + len(found)]
            np.copyto(
                hashes[: len(first), column], found.take(first, mode="clip"), where=sizes == size
            )
    return hashes


@cache
def _values(following: int) -> Hashes:
    """Return the value of each byte if so many bytes follow it."""
    zeros = bytes(following)
    every = (crc32(bytes([byte]) + zeros) for byte in range(256))
    return np.fromiter(every, np.uint32, 256) ^ np.uint32(crc32(bytes(1) + zeros))
