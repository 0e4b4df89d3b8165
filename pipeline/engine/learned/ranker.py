"""Ranks codes by a learned model, and by their titles those that it does not know."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from pipeline.answers import Match
from pipeline.codes import CodeTable
from pipeline.engine.learned.model import Model

__all__ = ["LearnedRanker"]


class _Titles(Protocol):
    """What ranks codes by their titles."""

    def rank(self, texts: Sequence[str], top: int) -> list[tuple[Match, ...]]:
        """Return the best codes of each text."""
        ...


class LearnedRanker:
    """Ranks the codes of one system; see `pipeline.engine.rankers.Ranker`.

    A code that the model does not know, by example or by title, takes part with the confidence
    that its titles give it, times how often codes without examples come up and the chance that the
    model's first code is wrong. Codes that were taught by title are left to the model: on labelled
    US notices after 3,000 examples, letting the titles speak for them too put .507 of the right
    codes among the first 10 and not .523. Where the model knows nothing of a text, the titles alone
    answer. A model of nothing but its history answers alone.

    Args:
        model: what was learned.
        table: the codes that may be given, and their titles; others are left out.
        titles: gives what ranks by titles, once it is needed: its index takes a while to build.
    """

    def __init__(self, model: Model, table: CodeTable, titles: Callable[[], _Titles]) -> None:
        self._model = model
        self._codes: list[str] = model.codes.tolist()
        self._gone = sum(code not in table for code in self._codes)
        self._table = table
        self._titles = titles
        self._known = set(self._codes)

    def rank(self, texts: Sequence[str], top: int) -> list[tuple[Match, ...]]:
        """Return the best codes of each text, best first; none where nothing speaks for any."""
        if not texts:
            return []
        learned = self._learned(texts, top)
        if self._model.only_history:
            return learned
        by_title = self._titles().rank(texts, top)
        return [self._blended(*both, top) for both in zip(learned, by_title, strict=True)]

    def _learned(self, texts: Sequence[str], top: int) -> list[tuple[Match, ...]]:
        places, confidence = self._model.predict(texts, top + self._gone)
        return [
            tuple(
                Match(code, self._table.titles[code], round(sure, 4))
                for code, sure in zip(codes, row, strict=True)
                if sure > 0 and code in self._table
            )[:top]
            for codes, row in zip(
                np.array(self._codes)[places].tolist(), confidence.tolist(), strict=True
            )
        ]

    def _blended(
        self, learned: tuple[Match, ...], by_title: tuple[Match, ...], top: int
    ) -> tuple[Match, ...]:
        doubt = (1 - learned[0].confidence) * self._model.unseen if learned else 1.0
        best = {match.code: match for match in learned}
        for match in by_title:
            sure = round(match.confidence * doubt, 4)
            known = best.get(match.code)
            if match.code in self._known and learned:
                continue
            if known is None or known.confidence < sure:
                best[match.code] = Match(match.code, match.title, sure)
        return tuple(sorted(best.values(), key=lambda match: -match.confidence)[:top])
