"""Ranks codes with a trained model, and codes that the model does not know by their titles."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Protocol

import numpy as np

from pipeline.answers import Match
from pipeline.codes import CodeTable
from pipeline.codes.table import parent
from pipeline.engine.model.arrays import Floats, Ints
from pipeline.engine.model.exact_matches import hashes
from pipeline.engine.model.explain import explain
from pipeline.engine.model.model import Model
from pipeline.engine.model.unseen_codes import UnseenCodes
from pipeline.engine.text.attribution import named

__all__ = ["LearnedRanker"]

TOGETHER = 50
"""How many extra codes to take from the model where several of them are merged into one."""

REPEATED = "the same text in the history"


class _Titles(Protocol):
    """Ranks codes by their titles."""

    def rank(self, texts: Sequence[str], top: int) -> list[tuple[Match, ...]]:
        """Return the best codes of each text."""
        ...

    def why(self, texts: Sequence[str], codes: Sequence[str]) -> list[str]:
        """Explain the code given for each text."""
        ...


class LearnedRanker:
    """Ranks the codes of one system; see `pipeline.engine.rankers.Ranker`.

    If the model predicts a code that may not be given, its nearest ancestor that may be given
    replaces it, such as the class of a UNSPSC commodity. The confidences of codes that merge into
    one are summed.

    A code that the model does not know, from examples or from its title, is considered only if the
    model's confidence is very low or the text is the code's title. Its confidence is that of the
    title ranking, times how often codes without examples occur, times the probability that the
    model's first code is wrong. Codes that the model was trained on by title are left to the model:
    on labelled US notices after 3,000 examples, ranking them by title as well put .507 of the right
    codes among the first 10, against .523 without. If the model has no match for a text, only the
    title ranking is used. A model trained on its history alone, or one that knows all codes, is
    used without the title ranking.

    Args:
        model: the trained model.
        table: the codes that may be given, and their titles.
        titles: returns the title ranker; called only when needed, as its index is slow to build.
    """

    def __init__(self, model: Model, table: CodeTable, titles: Callable[[], _Titles]) -> None:
        self._model = model
        self._table = table
        self._titles = titles
        codes: list[str] = model.codes.tolist()
        usual = table.assignable_codes
        self._given = np.array([code if code in usual else _above(table, code) for code in codes])
        self._as_they_are = self._given.tolist() == codes
        self._unseen = UnseenCodes(table, {*codes, *self._given.tolist()}, model.unseen)
        self._alone = model.only_history or not self._unseen

    def rank(self, texts: Sequence[str], top: int) -> list[tuple[Match, ...]]:
        """Return the best codes of each text, best first; none if no code gets a score."""
        if not texts:
            return []
        ranked = self._learned(texts, top)
        asked = [] if self._alone else self._unseen.concerned(texts, ranked)
        if asked:
            by_title = self._titles().rank([texts[place] for place in asked], top)
            for place, found in zip(asked, by_title, strict=True):
                ranked[place] = self._unseen.blended(ranked[place], found, top)
        return ranked

    def why(self, texts: Sequence[str], codes: Sequence[str]) -> list[str]:
        """Name the words that support each text's code, or say that the text is in the history."""
        learned = [place for place, code in enumerate(codes) if code in self._places]
        whys = dict.fromkeys(range(len(texts)), "")
        own = [texts[place] for place in learned]
        reasons = explain(
            self._model.scores, own, [self._places[codes[place]] for place in learned]
        )
        repeated, labels, _ = self._model.repeats.find(hashes(own))
        for place, found, again, label in zip(learned, reasons, repeated, labels, strict=True):
            is_repeat = again and self._given[label] == codes[place]
            whys[place] = REPEATED if is_repeat else named(found)
        rest = [] if self._alone else [place for place, why in whys.items() if not why]
        if rest:
            asked = [texts[place] for place in rest], [codes[place] for place in rest]
            whys |= zip(rest, self._titles().why(*asked), strict=True)
        return list(whys.values())

    @cached_property
    def _places(self) -> dict[str, Ints]:
        """For each code that may be given, the indices of the model's codes that map to it."""
        places: dict[str, list[int]] = defaultdict(list)
        for place, code in enumerate(self._given.tolist()):
            places[code].append(place)
        return {code: np.array(own) for code, own in places.items()}

    def _learned(self, texts: Sequence[str], top: int) -> list[tuple[Match, ...]]:
        if self._as_they_are:
            return self._ordered(*self._model.predict(texts, top))
        places, confidence = self._model.predict(texts, top + TOGETHER)
        rows = zip(self._given[places].tolist(), confidence.tolist(), strict=True)
        return [self._matches(zip(codes, row, strict=True), top) for codes, row in rows]

    def _ordered(self, places: Ints, confidence: Floats) -> list[tuple[Match, ...]]:
        """Return the matches of codes that need no merging, so they are in their order already."""
        counts = np.count_nonzero(confidence > 0, axis=1).tolist()
        codes = self._given[places].tolist()
        sure = np.round(np.minimum(confidence, 1.0), 4).tolist()
        title = self._table.titles.__getitem__
        return [
            tuple(map(Match, own[:count], map(title, own), chances))
            for count, own, chances in zip(counts, codes, sure, strict=True)
        ]

    def _matches(self, found: Iterable[tuple[str, float]], top: int) -> tuple[Match, ...]:
        sums: dict[str, float] = {}
        for code, sure in found:
            if code and sure > 0:
                sums[code] = sums.get(code, 0.0) + sure
        best = sorted(sums.items(), key=lambda each: -each[1])[:top]
        titles = self._table.titles
        return tuple(Match(code, titles[code], round(min(1.0, sure), 4)) for code, sure in best)


def _above(table: CodeTable, code: str) -> str:
    """Return the nearest code above one that the table lacks; "" if it may not be given either."""
    above = "" if code in table else parent(table.system, code, table.titles)
    return above if above in table.assignable_codes else ""
