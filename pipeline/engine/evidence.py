"""Tells texts of which something is known from noise, whose parts are known by accident alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pipeline.engine.text.cleaning import said

__all__ = ["GRAM", "STOCK_NUMBER", "Knows", "names", "shares_known"]

Knows: TypeAlias = Callable[[Sequence[str]], npt.NDArray[np.bool_]]
"""Tells which of some names are known: of words (``=road``) and of parts of them (``<road``)."""

GRAM = 5
"""Characters of a part. Of shorter ones any row of letters has some that are known."""

MAX_WORDS = 250

STOCK_NUMBER = re.compile(r"(?<!\d)\d{4}-?\d{2}-?\d{3}-?\d{4}(?!\d)")
"""NATO stock numbers, which begin with the supply class: all there is to know of an item."""

WORD = re.compile(r"(?<![^\W_])[^\W\d_]{2,60}(?![^\W_])")
"""Words that touch no digits, as those of references and UUIDs do."""

SHORT = 2
"""Letters: nearly all words of two are known, whatever they are. Where there are longer words or
digits they tell nothing; alone they may mean something (IT)."""

DIGIT = re.compile(r"\d")


def names(word: str) -> tuple[str, ...]:
    """Return what a word is known by: itself, then its parts with its borders marked."""
    marked = f"<{word}>"
    parts = (marked[start : start + GRAM] for start in range(len(marked) - GRAM + 1))
    return (f"={word}", *parts)


def shares_known(texts: Sequence[str], knows: Knows) -> npt.NDArray[np.float64]:
    """Return how much of each text's words is known, from 0 to 1.

    A word counts by its length: as a whole if it is known, else so far as its parts are.
    """
    found = [_words(text) for text in texts]
    distinct = list(dict.fromkeys(word for words in found for word in words or ()))
    by_word = dict(zip(distinct, _words_known(distinct, knows), strict=True))
    return np.array([_share(words, by_word) for words in found])


def _words(text: str) -> list[str] | None:
    """Return the words that say what is wanted; None where a stock number does."""
    wanted = said(text)
    if STOCK_NUMBER.search(wanted):
        return None
    words: list[str] = WORD.findall(wanted)[:MAX_WORDS]
    longer = [word for word in words if len(word) > SHORT]
    return longer if longer or DIGIT.search(wanted) else words


def _words_known(words: Sequence[str], knows: Knows) -> list[float]:
    if not words:
        return []
    named = [_names(word) for word in words]
    known = knows([name for each in named for name in each]).astype(np.float64)
    starts = np.cumsum([0, *map(len, named[:-1])])
    parts = np.array([len(each) - 1 for each in named])
    whole = known[starts]
    share: Any = (np.add.reduceat(known, starts) - whole) / np.maximum(parts, 1)
    return [*np.where(whole > 0, 1.0, share).tolist()]


def _share(words: Sequence[str] | None, by_word: dict[str, float]) -> float:
    if words is None:
        return 1.0
    known = sum(len(word) * by_word[word] for word in words)
    return known / max(1, sum(map(len, words)))


_names = lru_cache(maxsize=100_000)(names)
