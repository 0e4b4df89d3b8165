"""Attributes a code to the words of a text, from the contributions of the text's features."""

from __future__ import annotations

import html
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from pipeline.engine.text.cleaning import MAX_CHARS, STOP_WORDS, words

Array: TypeAlias = npt.NDArray[Any]

Reasons: TypeAlias = tuple[tuple[str, float], ...]
"""Words as the text writes them, strongest first, each with its share of the positive pull of the
words that `says_nothing` does not leave out."""

MOST = 5
LEAST = 0.05
"""The most words that are named, and the least share that a named word has."""

WORD = re.compile(r"[^\W\d_]+|\d+")


class Parts(NamedTuple):
    """The words of a text and the features that they make; weights add up by feature.

    Attributes:
        words: its words in their order, folded.
        features: the feature of each part; a feature may occur several times.
        owners: the position of the word that the part comes from; a pair of words has two parts.
        weights: how much of the feature comes from that word.
    """

    words: list[str]
    features: Array
    owners: Array
    weights: Array


def strongest(
    text: str, parts: Parts, features: Array, pulls: Array, fold: Callable[[str], list[str]]
) -> Reasons:
    """Return the words that count most for a code.

    Args:
        text: the text.
        parts: its words and features.
        features: the features in it that the engine knows, ascending.
        pulls: how much each of them adds to the code's score; negative if it counts against it.
        fold: splits a text into words as they are in ``parts``.
    """
    by_word: dict[str, float] = defaultdict(float)
    for word, pull in zip(parts.words, _shared_out(parts, features, pulls).tolist(), strict=True):
        by_word[word] += pull
    positive = {word: pull for word, pull in by_word.items() if pull > 0 and not says_nothing(word)}
    whole = sum(positive.values())
    best = sorted(positive, key=lambda word: -positive[word])[:MOST]
    written = _spellings(text, set(best), fold)
    return tuple(
        (written.get(word, word), positive[word] / whole)
        for word in best
        if positive[word] >= LEAST * whole
    )


def says_nothing(word: str) -> bool:
    """Return whether a word cannot explain a code: a stop word, a number or a bare letter.

    A NATO stock number can: it begins with the supply class.
    """
    return len(word) == 1 or word in STOP_WORDS or (word.isdigit() and len(word) <= 4)


def named(reasons: Reasons) -> str:
    """Return reasons as a text."""
    return ", ".join(word for word, _ in reasons)


def in_title(text: str, title: str) -> str:
    """Return the first words of a text that are in a title, as the text writes them."""
    title_words = {word for word in words(title) if not says_nothing(word)}
    written = _spellings(text, title_words, words)
    return ", ".join([*written.values()][:MOST])


def _shared_out(parts: Parts, features: Array, pulls: Array) -> Array:
    """Return the pull of each word: its part of the pull of each of its features."""
    if not len(features):
        return np.zeros(len(parts.words))
    index = np.minimum(np.searchsorted(features, parts.features), len(features) - 1)
    is_known = features[index] == parts.features
    index, owners, weights = index[is_known], parts.owners[is_known], parts.weights[is_known]
    whole = np.bincount(index, weights, len(features))
    pull: Array = np.bincount(owners, weights / whole[index] * pulls[index], len(parts.words))
    return pull


def _spellings(text: str, wanted: set[str], fold: Callable[[str], list[str]]) -> dict[str, str]:
    """Return the first spelling of some words in a text; reading stops when all are found."""
    spellings: dict[str, str] = {}
    seen: set[str] = set()
    for match in WORD.finditer(unicodedata.normalize("NFC", html.unescape(text[:MAX_CHARS]))):
        if len(spellings) == len(wanted):
            break
        word = match[0]
        if word not in seen:
            seen.add(word)
            folded = fold(word)
            if len(folded) == 1 and folded[0] in wanted:
                spellings.setdefault(folded[0], word)
    return spellings
