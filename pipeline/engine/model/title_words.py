"""Measures how far the titles of codes are in a text, by the stems of their words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import islice
from typing import TypeAlias
from zlib import crc32

import numpy as np
import numpy.typing as npt

from pipeline.codes import CodeTable, titles_by_language
from pipeline.engine.model.arrays import Floats, Texts
from pipeline.engine.text.cleaning import cleaned, readable
from pipeline.engine.text.letters import Words

__all__ = [
    "MEASURES",
    "RARITY_STEP",
    "STEMS",
    "TitleWords",
    "rarities",
    "rarity_levels",
    "stems",
]

STEMS = 2**16
"""Numbers of stems: those of different words are hardly ever equal by chance in one text."""

RARITY_STEP = np.float32(1 / 16)
"""A rarity is stored as a whole number of these, which a byte holds."""

WORD = Words(r"[^\W\d_]{3,}")

MOST_WORDS = 400
"""Words of a text that are read: a long notice begins with what is bought, the rest is terms."""

LETTERS = 6
"""The most letters of a stem; one has two letters less than its word, but four at least."""

MEASURES = 9
"""What is measured of a candidate; see `TitleWords.measured`."""

TINY = 1e-6

_Title: TypeAlias = tuple[tuple[int, ...], float]
"""The stems of a title, and the sum of their rarities."""


def stems(readable_text: str) -> list[int]:
    """Return the numbers of the stems of a text's words, each once, in their order."""
    words = islice(WORD.finditer(readable_text), MOST_WORDS)
    return list(dict.fromkeys(_stem(found[0]) for found in words))


@lru_cache(maxsize=2**16)
def _stem(word: str) -> int:
    short = word[: max(4, len(word) - 2)][:LETTERS] if len(word) > 4 else word
    return crc32(short.encode()) % STEMS


def rarities(texts: Iterable[Sequence[int]]) -> Floats:
    """Return how rare each stem is: the log of the texts divided by those that have it."""
    counts, number = np.zeros(STEMS), 0
    for some in texts:
        counts[[*some]] += 1
        number += 1
    return np.log((number + 1) / (counts + 1)).astype(np.float32)


def rarity_levels(rarity: Floats) -> npt.NDArray[np.uint8]:
    """Return rarities as whole numbers of `RARITY_STEP`."""
    levels: npt.NDArray[np.uint8] = np.clip(np.rint(rarity / RARITY_STEP), 0, 255).astype(np.uint8)
    return levels


@dataclass(frozen=True, eq=False)
class TitleWords:
    """The words of the titles of a system, in every language, and of the codes above each.

    Attributes:
        table: the codes and their titles.
        of_titles: how rare each stem is among titles; see `rarities`.
        of_texts: how rare each stem is among texts.
    """

    table: CodeTable
    of_titles: Floats
    of_texts: Floats
    _titles: dict[str, tuple[frozenset[int], tuple[_Title, ...]]] = field(
        default_factory=dict, init=False, repr=False
    )

    @cached_property
    def _rare(self) -> list[float]:
        """``of_titles`` as a list, of which Python reads single numbers faster."""
        numbers: list[float] = self.of_titles.tolist()
        return numbers

    @cached_property
    def _rare_in_texts(self) -> list[float]:
        numbers: list[float] = self.of_texts.tolist()
        return numbers

    @cached_property
    def _number(self) -> Mapping[str, int]:
        return {code: number for number, code in enumerate(self.table.titles)}

    @cached_property
    def _languages(self) -> Sequence[Sequence[str]]:
        return titles_by_language(self.table)

    def measured(self, texts: Sequence[str], codes: Texts) -> Floats:
        """Compare texts with the titles of their candidates.

        Returns:
            texts x candidates x `MEASURES`, of the title that fits best: the share of its words
            that the text has, by rarity; the share of the text that these words are; how early
            they are; how rare the rarest is; the best share of a title above; the best fit of a
            candidate below, or -1 without one; the fit, which is the first times the root of the
            second; and how far the fit and the first are behind the best candidate's.
        """
        found = np.array(
            [self._of_text(text, own) for text, own in zip(texts, codes.tolist(), strict=True)],
            np.float32,
        ).reshape(*codes.shape, MEASURES - 2)
        behind = found[:, :, [6, 0]]
        behind = behind - behind.max(axis=1, keepdims=True, initial=0)
        return np.concatenate([found, behind], axis=2)

    def _of_text(self, text: str, codes: Sequence[str]) -> list[tuple[float, ...]]:
        own = stems(cleaned(text))
        order = {stem: number for number, stem in enumerate(own)}
        whole = sum(map(self._rare_in_texts.__getitem__, own)) + TINY
        fits: dict[str, tuple[float, float, float, float]] = {}

        def fit(code: str) -> tuple[float, float, float, float]:
            if code not in fits:
                fits[code] = self._fit(code, order, whole)
            return fits[code]

        own_fits = [fit(code) for code in codes]
        above = [
            max((fit(each)[0] for each in self._ancestors(code)), default=0.0) for code in codes
        ]
        overall = [share * of_text**0.5 for share, of_text, _, _ in own_fits]
        short = [code.rstrip("0") for code in codes]
        below = [
            max(
                (
                    overall[other]
                    for other, longer in enumerate(short)
                    if len(longer) > len(start) and longer.startswith(start)
                ),
                default=-1.0,
            )
            for start in short
        ]
        return [
            (*some, up, down, total)
            for some, up, down, total in zip(own_fits, above, below, overall, strict=True)
        ]

    def _fit(
        self, code: str, order: Mapping[int, int], whole: float
    ) -> tuple[float, float, float, float]:
        every, titles = self._stems_of(code)
        best, most = (0.0, 0.0, 0.0, 0.0), 0.0
        if every.isdisjoint(order):
            return best
        rare, rare_in_texts = self._rare, self._rare_in_texts
        for own, total in titles:
            shared = [stem for stem in own if stem in order]
            if shared:
                share = sum([rare[stem] for stem in shared]) / total
                of_text = sum([rare_in_texts[stem] for stem in shared]) / whole
                if share * of_text**0.5 > most:
                    most = share * of_text**0.5
                    early = 1 / (1 + min([order[stem] for stem in shared]))
                    best = share, of_text, early, max([rare[stem] for stem in shared])
        return best

    def _stems_of(self, code: str) -> tuple[frozenset[int], tuple[_Title, ...]]:
        """Return the stems of all titles of a code, and each of these titles."""
        if code not in self._titles:
            number = self._number.get(code)
            texts = [] if number is None else [titles[number] for titles in self._languages]
            some = dict.fromkeys(tuple(stems(readable(text))) for text in texts if text)
            titles = tuple((own, sum(self._rare[stem] for stem in own) + TINY) for own in some)
            self._titles[code] = frozenset().union(*some), titles
        return self._titles[code]

    def _ancestors(self, code: str) -> Sequence[str]:
        return self.table.ancestors(code) if code in self._number else ()
