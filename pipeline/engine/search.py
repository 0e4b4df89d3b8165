"""Finds codes for a few words that a person typed, where a title may use others."""

from __future__ import annotations

from collections import defaultdict

from pipeline.answers import Match, System
from pipeline.engine.rankers import ranker

__all__ = ["searched"]

GUESSED = 0.15
"""Under this confidence, the model only guesses what the words mean."""


def searched(system: System, words: str, top: int) -> list[Match]:
    """Return the best codes, by the titles in every language and by what the model learned.

    A title has the words as they are, and the model knows others for the same: no title of a
    computer has "laptop" in it.

    Args:
        system: whose codes to search.
        words: what the person typed.
        top: how many codes to return.

    Returns:
        Matches with the sums of both confidences, which are only good for comparing them.
    """
    sums: dict[str, float] = defaultdict(float)
    titles: dict[str, str] = {}
    (named,) = ranker(system, "lexical").rank([words], top)
    (learned,) = ranker(system).rank([words], top)
    for match in (*named, *(match for match in learned if match.confidence >= GUESSED)):
        sums[match.code] += match.confidence
        titles[match.code] = match.title
    best = sorted(sums, key=lambda code: -sums[code])[:top]
    return [Match(code, titles[code], sums[code]) for code in best]
