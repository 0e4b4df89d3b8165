"""Finds codes for a few words that a person typed, even if their titles use other words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import cache

import numpy as np
import pyarrow as pa

from pipeline.answers import Match, System
from pipeline.codes import load, titles_by_language
from pipeline.engine.engine import ranker
from pipeline.engine.model.known_words import SHORT
from pipeline.engine.model.matrices import Floats
from pipeline.engine.text.cleaning import readable, split_words

GUESSED = 0.15
"""Below this confidence, an answer of the model is a guess, and is left out."""

RANKED = 50
"""The matches of the titles and of the model that are added up, however few are wanted: else the
best code of one would not always be the first of five."""

MOST_WORDS = 20
"""Words that titles are searched for; more are hardly typed."""

ALIKE = 0.5
"""The least share of the words, the rare ones more, that a title has."""

BY_TITLE = 0.5
"""What a title of the same words counts, beside the confidence of the model."""


def searched(system: System, words: str, top: int, every_level: bool = False) -> list[Match]:
    """Return the best codes, by the titles in every language and by what the model learned.

    The titles find the words themselves; the model also knows other words for the same thing, such
    as "laptop", which the title of no computer has.

    Only codes that a tender may have are returned, unless `every_level` is asked for.

    Returns:
        Matches, best first. Their confidence is the sum of both; it only serves to compare them.
    """
    table = load(system)
    codes = table.titles.keys() if every_level else table.assignable_codes
    sums = defaultdict(float, _by_title(system, words, codes))
    for match in ranker(system).rank([words], RANKED)[0]:
        if match.confidence >= GUESSED:
            sums[match.code] += match.confidence
    best = sorted(sums, key=lambda code: -sums[code])[:top]
    return [Match(code, table.titles[code], sums[code]) for code in best]


def _by_title(system: System, words: str, searched_codes: Collection[str]) -> dict[str, float]:
    """Return how much the titles of some codes are like some words, up to `BY_TITLE`."""
    from pyarrow import compute  # runs import this module, and search nothing

    typed = list(dict.fromkeys(_marked(readable(words)).split()))[:MOST_WORDS]
    beginnings = dict.fromkeys(map(_beginning, typed))
    codes, titles, lengths = _searchable(system)
    if not (beginnings and codes):
        return {}
    has = np.stack(
        [
            compute.match_substring(titles, f" {beginning}").to_numpy(False)
            for beginning in beginnings
        ]
    )
    rarity = np.log1p(len(codes) / (has.sum(axis=1) + 0.5))
    share = (rarity @ has) / rarity.sum()
    # Of two titles with all the words, the one that is about as long is nearer.
    length = sum(len(word) + 1 for word in typed)
    near = share * np.sqrt(np.minimum(length / lengths, lengths / length))
    alike = np.flatnonzero(share >= ALIKE)
    best: dict[str, float] = {}
    for row in alike[np.argsort(-near[alike], kind="stable")].tolist():
        if len(best) == RANKED:
            break
        if codes[row] in searched_codes:
            best.setdefault(codes[row], BY_TITLE * float(near[row]))
    return best


def _beginning(word: str) -> str:
    """Return what other forms of a word, and its typing mistakes, mostly share with it."""
    return word[: (len(word) + 4) // 2]


def _marked(text: str) -> str:
    """Return the words of a text without case and accents, each with its beginning marked."""
    return "".join(f" {word}" for word in split_words(text) if len(word) > SHORT)


@cache
def _searchable(system: System) -> tuple[Sequence[str], pa.Array, Floats]:
    """Return, of the titles of all codes in all languages: the codes, the titles, their lengths."""
    table = load(system)
    every = zip(table.titles, zip(*titles_by_language(table), strict=True), strict=True)
    # One text of many lines is made readable much faster than many texts.
    lines = ((code, readable("\n".join(titles)).split("\n")) for code, titles in every)
    rows = [
        (code, title)
        for code, titles in lines
        for title in dict.fromkeys(map(_marked, titles))
        if title
    ]
    codes, written = [code for code, _ in rows], [title for _, title in rows]
    return codes, pa.array(written, pa.string()), np.array([*map(len, written)])
