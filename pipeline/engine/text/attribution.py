"""Which words of a text spoke for a code: what its features did, shared out among its words."""

from __future__ import annotations

import html
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from pipeline.engine.text.cleaning import MAX_CHARS

__all__ = ["Parts", "Reasons", "named", "strongest"]

Array: TypeAlias = npt.NDArray[Any]

Reasons: TypeAlias = tuple[tuple[str, float], ...]
"""Words as the text writes them, strongest first, and each one's share of all that spoke for."""

MOST = 5
LEAST = 0.05
"""So many words are named at most, and none that spoke less than this share."""

WORD = re.compile(r"[^\W\d_]+|\d+")


class Parts(NamedTuple):
    """A text taken apart; what is counted of it is the sum of the weights by feature.

    Attributes:
        words: its words in their order, folded.
        features: a feature that is counted.
        owners: the place of the word that the feature comes from; one of a pair stands twice.
        weights: how much of the feature comes from there.
    """

    words: list[str]
    features: Array
    owners: Array
    weights: Array


def strongest(
    text: str, parts: Parts, features: Array, pulls: Array, fold: Callable[[str], list[str]]
) -> Reasons:
    """Return the words that spoke most for a code.

    Args:
        text: the text.
        parts: the same, taken apart.
        features: the features that the engine knows in it, ascending.
        pulls: how much each of them spoke for the code, or against it.
        fold: makes words of a text as they stand in ``parts``.
    """
    by_word: dict[str, float] = defaultdict(float)
    for word, pull in zip(parts.words, _shared_out(parts, features, pulls).tolist(), strict=True):
        by_word[word] += pull
    speaking = {word: pull for word, pull in by_word.items() if pull > 0}
    whole = sum(speaking.values())
    best = sorted(speaking, key=lambda word: -speaking[word])[:MOST]
    written = _spellings(text, set(best), fold)
    return tuple(
        (written.get(word, word), speaking[word] / whole)
        for word in best
        if speaking[word] >= LEAST * whole
    )


def named(reasons: Reasons) -> str:
    """Return reasons as a text."""
    return ", ".join(word for word, _ in reasons)


def _shared_out(parts: Parts, features: Array, pulls: Array) -> Array:
    """Return the pull of each word: its part of what each of its features pulls."""
    if not len(features):
        return np.zeros(len(parts.words))
    place = np.minimum(np.searchsorted(features, parts.features), len(features) - 1)
    known = features[place] == parts.features
    place, owners, weights = place[known], parts.owners[known], parts.weights[known]
    whole = np.bincount(place, weights, len(features))
    pull: Array = np.bincount(owners, weights / whole[place] * pulls[place], len(parts.words))
    return pull


def _spellings(text: str, wanted: set[str], fold: Callable[[str], list[str]]) -> dict[str, str]:
    """Return how a text first writes some of its words; it is read until all are found."""
    found: dict[str, str] = {}
    seen: set[str] = set()
    for match in WORD.finditer(unicodedata.normalize("NFC", html.unescape(text[:MAX_CHARS]))):
        if len(found) == len(wanted):
            break
        word = match[0]
        if word not in seen:
            seen.add(word)
            folded = fold(word)
            if len(folded) == 1 and folded[0] in wanted:
                found.setdefault(folded[0], word)
    return found
