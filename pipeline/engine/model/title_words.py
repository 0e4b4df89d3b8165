"""Measures how far the titles of codes are in a text, by the stems of their words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain
from zlib import crc32

import numpy as np
import numpy.typing as npt

from pipeline.codes import CodeTable, titles_by_language
from pipeline.engine.model.matrices import Bools, Floats, Ints, Texts
from pipeline.engine.text.cleaning import KEPT, cleaned, readable
from pipeline.engine.text.ngrams import Words

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

TOGETHER = 32
"""Texts that are compared at once, so that the arrays stay near the processor."""

NO_STEM = STEMS
"""The stem of a code without words in its titles: no text has it."""


def stems(readable_text: str) -> list[int]:
    """Return the numbers of the stems of a text's words, each once, in their order."""
    return list(dict.fromkeys(map(_stem, WORD.findall(readable_text)[:MOST_WORDS])))


@lru_cache(maxsize=KEPT)
def stems_of_text(text: str) -> Sequence[int]:
    """Return the stems of the words of a text that say what is bought; see `stems`."""
    return stems(cleaned(text))


@lru_cache(maxsize=2**16)
def _stem(word: str) -> int:
    short = word[: max(4, len(word) - 2)][:LETTERS] if len(word) > 4 else word
    return crc32(short.encode()) % STEMS


def rarity_levels(rarity: Floats) -> npt.NDArray[np.uint8]:
    """Return rarities as whole numbers of `RARITY_STEP`."""
    levels: npt.NDArray[np.uint8] = np.clip(np.rint(rarity / RARITY_STEP), 0, 255).astype(np.uint8)
    return levels


@dataclass(frozen=True, eq=False)
class TitleWords:
    """The words of the titles of a system, in every language, and of the codes above each.

    Attributes:
        table: the codes and their titles.
        of_titles: how rare each stem is among titles: the log of all by those with it.
        of_texts: how rare each stem is among texts.
    """

    table: CodeTable
    of_titles: Floats
    of_texts: Floats
    _titles: dict[str, tuple[Ints, Ints]] = field(default_factory=dict, init=False, repr=False)
    _above: dict[str, Sequence[str]] = field(default_factory=dict, init=False, repr=False)

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
        own = np.zeros((*codes.shape, 4))
        above = np.zeros((*codes.shape, 1))
        for at in range(0, len(texts), TOGETHER):
            some = codes[at : at + TOGETHER].tolist()
            ancestors = [[*map(self._ancestors, each)] for each in some]
            distinct = [
                list(dict.fromkeys(chain(each, *higher)))
                for each, higher in zip(some, ancestors, strict=True)
            ]
            fits = self._fits(texts[at : at + TOGETHER], distinct)
            ends = np.cumsum([*map(len, distinct)])[:-1]
            for row, each in enumerate(np.split(fits, ends), at):
                own[row] = each[: codes.shape[1]]
                share = dict(zip(distinct[row - at], each[:, 0].tolist(), strict=True))
                best = [
                    max(map(share.__getitem__, one), default=0.0) for one in ancestors[row - at]
                ]
                above[row, :, 0] = best
        overall = own[:, :, :1] * np.sqrt(own[:, :, 1:2])
        below = np.where(_is_below(codes), overall[:, None, :, 0], -1.0).max(axis=2)[:, :, None]
        found = np.concatenate([own, above, below, overall], axis=2, dtype=np.float32)
        behind = found[:, :, [6, 0]]
        behind = behind - behind.max(axis=1, keepdims=True, initial=0)
        return np.concatenate([found, behind], axis=2)

    def _fits(self, texts: Sequence[str], codes: Sequence[Sequence[str]]) -> Floats:
        """Return the first four measures of each text's codes, one text after the other."""
        titles = [[*map(self._titles_of, some)] for some in codes]
        every = [*chain.from_iterable(titles)]
        some = np.concatenate([stems for stems, _ in every])
        lengths = np.concatenate([lengths for _, lengths in every])
        counts = np.array([len(lengths) for _, lengths in every])
        at, whole = np.empty_like(some), np.empty(len(texts))
        place, end = np.zeros(STEMS + 1, np.int32), 0
        for row, (text, own) in enumerate(zip(texts, titles, strict=True)):
            words = [*stems_of_text(text)]
            start, end = end, end + sum(len(stems) for stems, _ in own)
            place[words] = np.arange(1, len(words) + 1)
            at[start:end] = place[some[start:end]]
            place[words] = 0
            whole[row] = self._rare_in_texts[words].sum() + TINY
        first = np.cumsum(lengths) - lengths
        shared = at > 0
        rare, rare_in_texts = self._rare[some], self._rare_in_texts[some]
        share = np.add.reduceat(rare * shared, first) / (np.add.reduceat(rare, first) + TINY)
        whole = np.repeat(np.repeat(whole, [*map(len, codes)]), counts)
        of_text = np.add.reduceat(rare_in_texts * shared, first) / whole
        fit = share * np.sqrt(of_text)
        # The best title of each code: the first of those with the highest fit.
        code = np.repeat(np.arange(len(counts)), counts)
        ranked = np.lexsort((-fit, code))
        best = ranked[np.cumsum(counts) - counts]
        early = np.minimum.reduceat(np.where(shared, at, STEMS), first)[best]
        rarest = np.maximum.reduceat(rare * shared, first)[best]
        found: Floats = np.stack([share[best], of_text[best], 1 / early, rarest], axis=1)
        found[fit[best] == 0] = 0
        return found

    def _titles_of(self, code: str) -> tuple[Ints, Ints]:
        """Return the stems of a code's titles, one title after the other, and how many each has."""
        if code not in self._titles:
            number = self._number.get(code)
            texts = [] if number is None else [titles[number] for titles in self._languages]
            # One text of many lines is folded much faster than many texts.
            lines = readable("\n".join(filter(None, texts))).split("\n")
            some = [own for own in dict.fromkeys(tuple(stems(line)) for line in lines) if own]
            some = some or [(NO_STEM,)]
            every = np.fromiter(chain.from_iterable(some), np.int32)
            self._titles[code] = every, np.array([*map(len, some)])
        return self._titles[code]

    @cached_property
    def _rare(self) -> Floats:
        return np.append(self.of_titles, 0).astype(np.float64)

    @cached_property
    def _rare_in_texts(self) -> Floats:
        return np.append(self.of_texts, 0).astype(np.float64)

    def _ancestors(self, code: str) -> Sequence[str]:
        if code not in self._above:
            self._above[code] = self.table.ancestors(code) if code in self._number else ()
        return self._above[code]


def _is_below(codes: Texts) -> Bools:
    """Return texts x candidates x candidates: whether the second is below the first."""
    written = codes.astype("S8")
    digits = np.ascontiguousarray(written).view(">u8")
    depth = np.char.str_len(np.char.rstrip(written, b"0"))
    other = np.uint64(8) * (np.uint64(8) - depth.astype(np.uint64))[:, :, None]
    same = digits[:, :, None] >> other == digits[:, None, :] >> other
    below: Bools = same & (depth[:, None, :] > depth[:, :, None])
    return below
