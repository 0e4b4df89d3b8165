"""Finds codes for a few words that a person typed, even if their titles use other words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from functools import cache

from pipeline.answers import Match, System
from pipeline.codes import CodeTable, load, titles_by_language
from pipeline.engine.engine import ranker, title_ranker
from pipeline.engine.evidence import SHORT
from pipeline.engine.text.cleaning import words as words_of

GUESSED = 0.15
"""Below this confidence, an answer of the model is a guess, and is left out."""

RANKED = 50
"""The matches of the titles and of the model that are added up, however few are wanted: else the
best code of one would not always be the first of five."""

LONG = 4
"""Letters that a title's word has in a longer one by more than chance: "top" is in "laptop"."""

BY_CHANCE = 0.5
"""What a match of the titles counts that only shares letters, if others have one of the words."""


def searched(system: System, words: str, top: int) -> list[Match]:
    """Return the best codes, by the titles in every language and by what the model learned.

    The titles find the words themselves; the model also knows other words for the same thing, such
    as "laptop", which the title of no computer has.

    It returns at most `RANKED` codes.

    Returns:
        Matches, best first. Their confidence is the sum of both; it only serves to compare them.
    """
    (by_title,) = title_ranker(system).rank([words], RANKED)
    (learned,) = ranker(system).rank([words], RANKED)
    sure = [match for match in learned if match.confidence >= GUESSED]
    sums: dict[str, float] = defaultdict(float)
    titles = {match.code: match.title for match in (*by_title, *sure)}
    named = _with_words(load(system), [match.code for match in by_title], set(words_of(words)))
    for match in by_title:
        by_chance = named and match.code not in named
        sums[match.code] = match.confidence * (BY_CHANCE if by_chance else 1.0)
    for match in sure:
        sums[match.code] += match.confidence
    best = sorted(sums, key=lambda code: -sums[code])[:top]
    return [Match(code, titles[code], sums[code]) for code in best]


def _with_words(table: CodeTable, codes: Iterable[str], wanted: Collection[str]) -> set[str]:
    """Return the codes with one of the words in a title, of their own or above them."""
    place = {code: number for number, code in enumerate(table.titles)}
    languages = titles_by_language(table)

    @cache
    def has_word(code: str) -> bool:
        title = " ".join(titles[place[code]] for titles in languages)
        return any(
            (len(one) > SHORT and one in word) or (len(word) >= LONG and word in one)
            for word in {*words_of(title)}
            for one in wanted
        )

    known = (code for code in codes if code in place)
    return {code for code in known if any(map(has_word, [code, *table.ancestors(code)]))}
