"""Finds codes for a few words that a person typed, even if their titles use other words."""

from __future__ import annotations

from collections import defaultdict

from pipeline.answers import Match, System
from pipeline.engine.rankers import ranker

__all__ = ["searched"]

GUESSED = 0.15
"""Below this confidence, an answer of the model is a guess, and is left out."""

RANKED = 50
"""The matches of the titles and of the model that are added up, however few are wanted: else the
best code of one would not always be the first of five."""


def searched(system: System, words: str, top: int) -> list[Match]:
    """Return the best codes, by the titles in every language and by what the model learned.

    The titles find the words themselves; the model also knows other words for the same thing, such
    as "laptop", which the title of no computer has.

    Args:
        system: whose codes to search.
        words: what the person typed.
        top: how many codes to return, at most `RANKED`.

    Returns:
        Matches, best first. Their confidence is the sum of both; it only serves to compare them.
    """
    sums: dict[str, float] = defaultdict(float)
    titles: dict[str, str] = {}
    (by_title,) = ranker(system, "lexical").rank([words], RANKED)
    (learned,) = ranker(system).rank([words], RANKED)
    for match in (*by_title, *(match for match in learned if match.confidence >= GUESSED)):
        sums[match.code] += match.confidence
        titles[match.code] = match.title
    best = sorted(sums, key=lambda code: -sums[code])[:top]
    return [Match(code, titles[code], sums[code]) for code in best]
