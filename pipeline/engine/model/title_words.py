"""Measures how far the titles of codes are in a text, by the stems of their words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain, groupby, pairwise, repeat, zip_longest
from typing import NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt

from pipeline.codes import CodeTable, titles_of
from pipeline.engine.model.matrices import Bools, Floats, Ints, SparseRows, Texts
from pipeline.engine.text.cleaning import KEPT, WordPattern, cleaned, readable

STEMS = 2**16
"""Numbers of stems: those of different words are hardly ever equal by chance in one text."""

RARITY_STEP = np.float32(1 / 16)
"""A rarity is stored as a whole number of these, which a byte holds."""

WORD = WordPattern(r"[^\W\d_]{3,}")
WORD_OR_END = WordPattern(r"[^\W\d_]{3,}|\n")

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


class _Read(NamedTuple):
    """The titles that are read so far; a code is known by its number in the table.

    Attributes:
        rows: for each code, its row, or -1. A code that the table lacks has the last number, and
            a title without stems.
        titles: codes x titles; the values are the sums of the rarities of their stems.
        stems: titles x stems; the values are their rarities.
    """

    rows: Ints
    titles: SparseRows
    stems: SparseRows


@dataclass(eq=False)
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
    _read: _Read = field(init=False, repr=False)
    _above: dict[int, Sequence[int]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Begin without the titles of any code."""
        lacking, none = len(self.table.titles), np.zeros(1)
        titles, stems = (SparseRows(none, np.array([at]), np.arange(2)) for at in (0, NO_STEM))
        self._read = _Read(np.append(np.full(lacking, -1), 0), titles, stems)
        self._above = {lacking: ()}

    @cached_property
    def _codes(self) -> Sequence[str]:
        return list(self.table.titles)

    @cached_property
    def _number(self) -> Mapping[str, int]:
        return {code: number for number, code in enumerate(self._codes)}

    def measured(self, texts: Sequence[str], codes: Texts) -> Floats:
        """Compare texts with the titles of their candidates.

        Returns:
            texts x candidates x `MEASURES`, of the title that fits best: the share of its words
            that the text has, by rarity; the share of the text that these words are; how early
            they are; how rare the rarest is; the best share of a title above; the best fit of a
            candidate below, or -1 without one; the fit, which is the first times the root of the
            second; and how far the fit and the first are behind the best candidate's.
        """
        numbers = self._with_above(codes)
        fits = np.empty((*numbers.shape, 4))
        for at in range(0, len(texts), TOGETHER):
            part = slice(at, at + TOGETHER)
            fits[part] = self._fits(texts[part], numbers[part])
        own_fits, above = fits[:, :, 0], fits[:, :, 1:, :1].max(axis=2, initial=0)
        overall = own_fits[:, :, :1] * np.sqrt(own_fits[:, :, 1:2])
        below = np.where(_is_below(codes), overall[:, None, :, 0], -1.0).max(axis=2)[:, :, None]
        measures = np.concatenate([own_fits, above, below, overall], axis=2, dtype=np.float32)
        behind = measures[:, :, [6, 0]]
        behind = behind - behind.max(axis=1, keepdims=True, initial=0)
        return np.concatenate([measures, behind], axis=2)

    def _with_above(self, codes: Texts) -> Ints:
        """Return texts x candidates x levels: the number of each code, and of those above it."""
        number = map(self._number.get, codes.reshape(-1).tolist(), repeat(len(self._number)))
        numbers = [*number]
        levels = zip_longest(*map(self._ancestors, numbers), fillvalue=len(self._number))
        every = np.array([numbers, *levels], np.intp)
        return every.T.reshape(*codes.shape, len(every))

    def _fits(self, texts: Sequence[str], numbers: Ints) -> Floats:
        """Return the first four measures of the codes of each text, given their numbers."""
        # Candidates have the same codes above them, which are compared with a text only once.
        row = np.arange(len(texts))[:, None, None] * (len(self._number) + 1)
        pairs, places = np.unique(row + numbers, return_inverse=True)
        text, number = np.divmod(pairs, len(self._number) + 1)
        read = self._reading(number)
        titles = read.titles.select(read.rows[number])
        of_titles = read.stems.select(titles.columns)
        stems, pair = of_titles.columns, titles.rows
        bounds = of_titles.ends[titles.ends[np.searchsorted(text, np.arange(len(texts) + 1))]]
        at, whole = np.empty(len(stems), np.int32), np.empty(len(texts))
        place = np.zeros(STEMS + 1, np.int32)
        for which, (start, end) in enumerate(pairwise(bounds.tolist())):
            words = [*stems_of_text(texts[which])]
            place[words] = np.arange(1, len(words) + 1)
            at[start:end] = place[stems[start:end]]
            place[words] = 0
            whole[which] = self._rare_in_texts[words].sum() + TINY
        # Few titles share a word with their text, and only these are measured.
        shared = np.flatnonzero(at)
        title = np.searchsorted(of_titles.ends[1:], shared, side="right")
        first = np.flatnonzero(np.diff(title, prepend=-1))
        title, at, stems, rare = title[first], at[shared], stems[shared], of_titles.values[shared]
        pair = pair[title]
        share = np.add.reduceat(rare, first) / (titles.values[title] + TINY)
        of_text = np.add.reduceat(self._rare_in_texts[stems], first) / whole[text[pair]]
        early, rarest = 1 / np.minimum.reduceat(at, first), np.maximum.reduceat(rare, first)
        fit = share * np.sqrt(of_text)
        # The best title of each code: the first of those with the highest fit.
        best = np.lexsort((-fit, pair))
        best = best[np.diff(pair, prepend=-1) > 0]
        best = best[fit[best] > 0]
        found = np.zeros((len(pairs), 4))
        found[pair[best]] = np.stack([share, of_text, early, rarest], axis=1)[best]
        fits: Floats = found[places.reshape(numbers.shape)]
        return fits

    def _reading(self, numbers: Ints) -> _Read:
        """Return the titles that are read, with those of some codes among them."""
        read = self._read
        rows, titles, stems = read
        new = sorted({*numbers[rows[numbers] < 0].tolist()})
        if not new:
            return read
        rows = rows.copy()
        rows[new] = len(titles) + np.arange(len(new))
        stems_of_codes = [*map(_stems_of_titles, titles_of(self.table, new))]
        every = [*chain.from_iterable(stems_of_codes)]
        columns = np.fromiter(chain.from_iterable(every), np.intp)
        rare = self._rare[columns]
        more = SparseRows(rare, columns, np.cumsum([0, *map(len, every)]))
        rarity = np.add.reduceat(rare, more.ends[:-1])
        places = len(stems) + np.arange(len(every))
        own = SparseRows(rarity, places, np.cumsum([0, *map(len, stems_of_codes)]))
        # Another thread may do the same, so what is read is replaced as a whole.
        read = _Read(rows, titles.joined(own), stems.joined(more))
        self._read = read
        return read

    @cached_property
    def _rare(self) -> Floats:
        return np.append(self.of_titles, 0).astype(np.float64)

    @cached_property
    def _rare_in_texts(self) -> Floats:
        return np.append(self.of_texts, 0).astype(np.float64)

    def _ancestors(self, number: int) -> Sequence[int]:
        if number not in self._above:
            codes = self.table.ancestors(self._codes[number])
            self._above[number] = [*map(self._number.__getitem__, codes)]
        return self._above[number]


def _stems_of_titles(titles: Sequence[str]) -> Sequence[Sequence[int]]:
    # One text of many lines is folded and split much faster than many texts.
    words = WORD_OR_END.findall(readable("\n".join(filter(None, titles))))
    lines = (line for is_end, line in groupby(words, "\n".__eq__) if not is_end)
    distinct = dict.fromkeys(tuple(dict.fromkeys(map(_stem, line))) for line in lines)
    return [*distinct] or [(NO_STEM,)]


def _is_below(codes: Texts) -> Bools:
    """Return texts x candidates x candidates: whether the second is below the first."""
    written = codes.astype("S8")
    digits = np.ascontiguousarray(written).view(">u8")
    depth = np.char.str_len(np.char.rstrip(written, b"0"))
    other = np.uint64(8) * (np.uint64(8) - depth.astype(np.uint64))[:, :, None]
    same = digits[:, :, None] >> other == digits[:, None, :] >> other
    below: Bools = same & (depth[:, None, :] > depth[:, :, None])
    return below
