"""Measures how much of a text is known, to tell texts from noise such as random letters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt

from pipeline.engine.model.features import STOCK_NUMBER, Vocabulary
from pipeline.engine.text.cleaning import WordPattern, cleaned

GRAM = 5
"""Characters of a part. Shorter parts are known by accident in any string of letters."""

MAX_WORDS = 250

BEGINNING = 200
"""Characters of a text that are looked at first."""

UUID = re.compile(r"-(?<=\b[0-9a-f]{8}-)[0-9a-f]{4}(?:-[0-9a-f]{4}){2}-[0-9a-f]{12}\b")
"""A UUID after its first eight digits, as a hyphen is found sooner than digits. A group of it with
letters only looks like a word, and may be known by chance."""

WORD = WordPattern(r"(?<![^\W_])[^\W\d_]{2,60}(?![^\W_])")
"""Words without adjacent digits, which references and UUIDs have."""

SHORT = 2
"""Letters: nearly all words of two are known by accident, so they count only in a text without
longer words or digits, where they may mean something (IT)."""

DIGIT = re.compile(r"\d")


def enough_known(
    texts: Sequence[str], vocabulary: Vocabulary, least: float
) -> npt.NDArray[np.bool_]:
    """Return of which texts at least a share of the words is known.

    Of nearly all real texts, at least twice this share is known at the beginning. These are not
    read further, which saves most of the time. Of noise, so much is hardly ever known.
    """
    cleaned_texts = [cleaned(text) for text in texts]
    enough = shares_known([text[:BEGINNING] for text in cleaned_texts], vocabulary) >= 2 * least
    if unsure := np.flatnonzero(~enough).tolist():
        enough[unsure] = shares_known([cleaned_texts[row] for row in unsure], vocabulary) >= least
    return enough


def shares_known(texts: Sequence[str], vocabulary: Vocabulary) -> npt.NDArray[np.float64]:
    """Return the share of each cleaned text's words that is known, from 0 to 1.

    A word is weighted by its length. An unknown word counts by the share of its parts that are
    known.
    """
    words_of_texts = [_words(text) for text in texts]
    distinct = list(dict.fromkeys(chain.from_iterable(words or () for words in words_of_texts)))
    shares = zip(distinct, _words_known(distinct, vocabulary), strict=True)
    letters_known = {word: len(word) * share for word, share in shares}
    return np.array([_share(words, letters_known) for words in words_of_texts])


def _words(text: str) -> list[str] | None:
    """Return the words that say what is bought; None for a text with a stock number."""
    without_ids = UUID.sub(" ", text)
    if STOCK_NUMBER.search(without_ids):
        return None
    words: list[str] = WORD.findall(without_ids)[:MAX_WORDS]
    longer = [word for word in words if len(word) > SHORT]
    return longer if longer or DIGIT.search(without_ids) else words


def _words_known(words: Sequence[str], vocabulary: Vocabulary) -> list[float]:
    share = vocabulary.find_words(words)[0].astype(np.float64)
    unknown = np.flatnonzero(share == 0)  # most words are known, so their parts do not matter
    known, owners = vocabulary.knows_grams([words[index] for index in unknown.tolist()], GRAM)
    known_parts = np.bincount(owners, known, len(unknown))
    share[unknown] = known_parts / np.maximum(np.bincount(owners, minlength=len(unknown)), 1)
    return [*share.tolist()]


def _share(words: Sequence[str] | None, letters_known: dict[str, float]) -> float:
    if words is None:
        return 1.0
    return sum(map(letters_known.__getitem__, words)) / max(1, sum(map(len, words)))
