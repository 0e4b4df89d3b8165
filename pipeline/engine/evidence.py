"""Measures how much of a text is known, to tell texts from noise such as random letters."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pipeline.engine.text.cleaning import cleaned

__all__ = ["GRAM", "STOCK_NUMBER", "Knows", "names", "shares_known"]

Knows: TypeAlias = Callable[[Sequence[str]], npt.NDArray[np.bool_]]
"""Returns which names are known: names of words (``=road``) and of their parts (``<road``)."""

GRAM = 5
"""Characters of a part. Shorter parts are known by accident in any string of letters."""

MAX_WORDS = 250

STOCK_NUMBER = re.compile(r"(?<!\d)\d{4}-?\d{2}-?\d{3}-?\d{4}(?!\d)")
"""NATO stock numbers. They begin with the supply class, so they say what is bought."""

WORD = re.compile(r"(?<![^\W_])[^\W\d_]{2,60}(?![^\W_])")
"""Words without adjacent digits, which references and UUIDs have."""

NAMES_KEPT = 1 << 14
"""Words whose names are cached: about 11 MB, and 41 MB if all of them have 40 letters."""

SHORT = 2
"""Letters: nearly all words of two are known by accident, so they count only in a text without
longer words or digits, where they may mean something (IT)."""

DIGIT = re.compile(r"\d")


def names(word: str) -> tuple[str, ...]:
    """Return the names of a word: the word itself, then its parts with its borders marked."""
    marked = f"<{word}>"
    parts = (marked[start : start + GRAM] for start in range(len(marked) - GRAM + 1))
    return (f"={word}", *parts)


def shares_known(texts: Sequence[str], knows: Knows) -> npt.NDArray[np.float64]:
    """Return the share of each text's words that is known, from 0 to 1.

    A word is weighted by its length. An unknown word counts by the share of its parts that are
    known.
    """
    found = [_words(text) for text in texts]
    distinct = list(dict.fromkeys(word for words in found for word in words or ()))
    by_word = dict(zip(distinct, _words_known(distinct, knows), strict=True))
    return np.array([_share(words, by_word) for words in found])


def _words(text: str) -> list[str] | None:
    """Return the words that say what is bought; None for a text with a stock number."""
    wanted = cleaned(text)
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


_names = lru_cache(maxsize=NAMES_KEPT)(names)
