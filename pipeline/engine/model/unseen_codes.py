"""Ranks codes that a model does not know by title: decides when, and with what confidence."""

from __future__ import annotations

from collections.abc import Container, Sequence
from functools import cached_property

import numpy as np

from pipeline.answers import Match
from pipeline.codes import CodeTable
from pipeline.engine.model.arrays import Ints
from pipeline.engine.model.exact_matches import hashes

__all__ = ["UnseenCodes"]

DOUBTFUL = 0.1
"""The title ranking is used for a text if the model's first code has less than this confidence.

Measured with a model of 5,000 rows and 846 codes and the full UNSPSC, 156,510 codes, on 3,000
texts, 6 % of which had a code that the model did not know. The title ranking is used for 7 % of the
texts and puts 3 % of those unseen codes among the first 10; .633 of all right codes are among the
first 10, against .638 without it. With 0.15, the figures are 18 %, 6 % and .620; if always used,
100 %, 18 % and .520.
A text that is the title of an unseen code is ranked by title whatever the confidence: this puts the
code of 96 % of 500 such titles among the first 10, against 33 %, and .633 becomes .630."""


class UnseenCodes:
    """The codes of a table that a model was not trained on, neither by example nor by title.

    Args:
        table: the codes that may be given.
        known: the codes that the model knows.
        chance: how often a text has a code that no other example has.
    """

    def __init__(self, table: CodeTable, known: Container[str], chance: float) -> None:
        self._known = known
        self._chance = chance
        self._titles = [
            title
            for code, title in table.titles.items()
            if code not in known and code in table.assignable_codes
        ]

    def __len__(self) -> int:
        return len(self._titles)

    def concerned(self, texts: Sequence[str], ranked: Sequence[Sequence[Match]]) -> list[int]:
        """Return the indices of the texts for which unseen codes are considered.

        These are the texts with a very low confidence and those that are an unseen code's title.
        """
        wanted = hashes(texts)
        place = np.minimum(np.searchsorted(self._hashes, wanted), len(self._hashes) - 1)
        is_title = self._hashes[place] == wanted
        return [
            number
            for number, found in enumerate(ranked)
            if is_title[number] or not found or found[0].confidence < DOUBTFUL
        ]

    def blended(
        self, learned: Sequence[Match], by_title: Sequence[Match], top: int
    ) -> tuple[Match, ...]:
        """Add unseen codes ranked by title; without a learned match, return the title ranking."""
        if not learned:
            return tuple(by_title[:top])
        doubt = (1 - learned[0].confidence) * self._chance
        more = [
            Match(match.code, match.title, round(match.confidence * doubt, 4))
            for match in by_title
            if match.code not in self._known
        ]
        return tuple(sorted([*learned, *more], key=lambda match: -match.confidence)[:top])

    @cached_property
    def _hashes(self) -> Ints:
        return np.sort(hashes(self._titles))
