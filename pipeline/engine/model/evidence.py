"""Measures how much of a text is known, to tell texts from noise such as random letters."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import chain
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from pipeline.engine.model.features import STOCK_NUMBER, Hashes, gram_hashes, word_hashes
from pipeline.engine.text.cleaning import Words, cleaned

Knows: TypeAlias = Callable[[Hashes, bool], npt.NDArray[np.bool_]]
"""Returns which hashes of words are known, or, if the argument is true, of parts of words."""

GRAM = 5
"""Characters of a part. Shorter parts are known by accident in any string of letters."""

MAX_WORDS = 250

BEGINNING = 200
"""Characters of a text that are looked at first."""

UUID = re.compile(r"-(?<=\b[0-9a-f]{8}-)[0-9a-f]{4}(?:-[0-9a-f]{4}){2}-[0-9a-f]{12}\b")
"""A UUID after its first eight digits, as a hyphen is found sooner than digits. A group of it with
letters only looks like a word, and may be known by chance."""

WORD = Words(r"(?<![^\W_])[^\W\d_]{2,60}(?![^\W_])")
"""Words without adjacent digits, which references and UUIDs have."""

SHORT = 2
"""Letters: nearly all words of two are known by accident, so they count only in a text without
longer words or digits, where they may mean something (IT)."""

DIGIT = re.compile(r"\d")


def enough_known(texts: Sequence[str], knows: Knows, least: float) -> npt.NDArray[np.bool_]:
    """Return of which texts at least a share of the words is known.

    Of nearly all real texts, at least twice this share is known at the beginning. These are not
    read further, which saves most of the time. Of noise, so much is hardly ever known.
    """
    wanted = [cleaned(text) for text in texts]
    enough = shares_known([text[:BEGINNING] for text in wanted], knows) >= 2 * least
    others = np.flatnonzero(~enough)
    enough[others] = shares_known([wanted[place] for place in others.tolist()], knows) >= least
    return enough


def shares_known(texts: Sequence[str], knows: Knows) -> npt.NDArray[np.float64]:
    """Return the share of each cleaned text's words that is known, from 0 to 1.

    A word is weighted by its length. An unknown word counts by the share of its parts that are
    known.
    """
    found = [_words(text) for text in texts]
    distinct = list(dict.fromkeys(chain.from_iterable(words or () for words in found)))
    shares = zip(distinct, _words_known(distinct, knows), strict=True)
    letters_known = {word: len(word) * share for word, share in shares}
    return np.array([_share(words, letters_known) for words in found])


def _words(text: str) -> list[str] | None:
    """Return the words that say what is bought; None for a text with a stock number."""
    wanted = UUID.sub(" ", text)
    if STOCK_NUMBER.search(wanted):
        return None
    words: list[str] = WORD.findall(wanted)[:MAX_WORDS]
    longer = [word for word in words if len(word) > SHORT]
    return longer if longer or DIGIT.search(wanted) else words


def _words_known(words: Sequence[str], knows: Knows) -> list[float]:
    share = knows(word_hashes(words), False).astype(np.float64)
    others = np.flatnonzero(share == 0)  # most words are known, so their parts do not matter
    parts, owners = gram_hashes([words[place] for place in others.tolist()], [GRAM])
    found = np.bincount(owners, knows(parts, True), len(others))
    share[others] = found / np.maximum(np.bincount(owners, minlength=len(others)), 1)
    return [*share.tolist()]


def _share(words: Sequence[str] | None, letters_known: dict[str, float]) -> float:
    if words is None:
        return 1.0
    return sum(map(letters_known.__getitem__, words)) / max(1, sum(map(len, words)))
