"""Finds codes for a few words that a person typed, even if their titles use other words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache

import numpy as np
import pyarrow as pa

from pipeline.answers import Match, System
from pipeline.codes import load, titles_by_language
from pipeline.engine.engine import ranker
from pipeline.engine.evidence import SHORT
from pipeline.engine.model.matrices import Floats
from pipeline.engine.text.cleaning import readable, split_words

GUESSED = 0.15
"""Below this confidence, an answer of the model is a guess, and is left out."""

RANKED = 50
"""The matches of the titles and of the model that are added up, however few are wanted: else the
best code of one would not always be the first of five."""

PART = 3
"""Characters of a part of a word."""

MOST_PARTS = 60
"""Parts of the words that titles are searched for; more are hardly typed."""

ALIKE = 0.5
"""The least share of the parts that a title has; with less, it shares letters by chance."""

BY_TITLE = 0.5
"""What a title of the same words counts, beside the confidence of the model."""

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
    titles = load(system).titles
    sums = defaultdict(float, _by_title(system, words))
    for match in ranker(system).rank([words], RANKED)[0]:
        if match.confidence >= GUESSED:
            sums[match.code] += match.confidence
    best = sorted(sums, key=lambda code: -sums[code])[:top]
    return [Match(code, titles[code], sums[code]) for code in best]


def _by_title(system: System, words: str) -> dict[str, float]:
    """Return how much the titles of codes are like some words, up to `BY_TITLE`."""
    from pyarrow import compute  # runs import this module, and search nothing

    wanted = _marked(readable(words))
    parts = [wanted[at : at + PART] for at in range(len(wanted) - PART + 1)]
    parts = list(dict.fromkeys(parts))[:MOST_PARTS]
    codes, titles, lengths = _searchable(system)
    if not (parts and codes):
        return {}
    has = np.stack([compute.match_substring(titles, part).to_numpy(False) for part in parts])
    rarity = np.log1p(len(codes) / (has.sum(axis=1) + 0.5))
    # Of two titles with all the words, the one with fewer others is nearer.
    near = (rarity @ has) / rarity.sum() * np.sqrt(np.minimum(1, len(wanted) / lengths))
    values = np.where(has.mean(axis=0) >= ALIKE, BY_TITLE * near, 0)
    best: dict[str, float] = {}
    for place in np.argsort(-values, kind="stable").tolist():
        if len(best) == RANKED or not values[place]:
            break
        best.setdefault(codes[place], float(values[place]))
    named = _with_words(system, best, {*wanted.split()})
    return {
        code: value * (BY_CHANCE if named and code not in named else 1.0)
        for code, value in best.items()
    }


def _marked(text: str) -> str:
    """Return the words of a text without case and accents, each with its beginning marked."""
    return "".join(f" {word}" for word in split_words(text) if len(word) > SHORT)


@cache
def _searchable(system: System) -> tuple[Sequence[str], pa.Array, Floats]:
    """Return, of all titles of codes that may be given: the codes, the titles, their lengths."""
    given, titles = load(system).assignable_codes, _titles(system)
    rows = [(code, title) for code, some in titles.items() if code in given for title in some]
    codes, written = [code for code, _ in rows], [title for _, title in rows]
    return codes, pa.array(written, pa.string()), np.array([*map(len, written)])


@cache
def _titles(system: System) -> Mapping[str, Sequence[str]]:
    """Return the titles of each code, in all languages, as `_marked` writes them."""
    table = load(system)
    every = zip(table.titles, zip(*titles_by_language(table), strict=True), strict=True)
    # One text of many lines is made readable much faster than many texts.
    lines = ((code, readable("\n".join(titles)).split("\n")) for code, titles in every)
    return {code: [*filter(None, dict.fromkeys(map(_marked, some)))] for code, some in lines}


def _with_words(system: System, codes: Iterable[str], wanted: Collection[str]) -> set[str]:
    """Return the codes with one of the words in a title, of their own or above them."""
    table, titles = load(system), _titles(system)

    @cache
    def has_word(code: str) -> bool:
        return any(
            one in word or (len(word) >= LONG and word in one)
            for word in {*" ".join(titles[code]).split()}
            for one in wanted
        )

    return {code for code in codes if any(map(has_word, [code, *table.ancestors(code)]))}
