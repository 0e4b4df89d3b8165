"""Ranks codes by how well a text matches their titles and those of related codes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property, lru_cache
from itertools import compress
from math import exp, sqrt

import numpy as np
from scipy import sparse

from pipeline.answers import Match
from pipeline.codes import CodeTable
from pipeline.engine.evidence import enough_known
from pipeline.engine.lexical.index import Index, parts, term_counts, weighted
from pipeline.engine.model.matrices import Floats, highest
from pipeline.engine.text.attribution import Reasons, named, strongest
from pipeline.engine.text.boilerplate import BUYING_WORDS
from pipeline.engine.text.cleaning import words

__all__ = ["LexicalRanker"]

FROM_ABOVE = 0.2
"""Share of an ancestor's score that a code gets, multiplied for each level between them."""

FROM_BELOW = 0.2
"""Share of a descendant's score that a code gets, multiplied for each level between them and
divided by the root of its number of descendants: else a segment with thousands always wins."""

SCORES_AT_ONCE = 4_000_000
"""Texts times codes scored in one matrix; bounds the memory."""

LEAST_KNOWN = 0.1
"""The least share of a text's words that titles must have; a text with less gets no match, because
equal hashed parts are no evidence. With the CPV titles, in 23 languages, that excludes 0 to 4 of
1,000 labelled texts, and of generated noise 88 % of strings of letters, 86 % of strings of adjacent
keys and 99 % of UUIDs."""

# Logistic regression of "the best code is the buyer's" on the best score and its lead over the
# second, fitted on 24,000 labelled tenders, 6,000 of each system; expected calibration error on
# them: .011 to .033.
INTERCEPT, PER_SCORE, PER_LEAD = -3.61, 2.56, 4.00


class LexicalRanker:
    """Ranks the codes of one system; see `pipeline.engine.model.ranker.Ranker`."""

    def __init__(self, table: CodeTable, index: Index) -> None:
        assignable = [table.assignable(code) for code in table.titles]
        self._codes = list(compress(table.titles, assignable))
        self._titles = [table.titles[code] for code in self._codes]
        self._index = index
        self._kinship = _kinship(table)[assignable]

    def rank(self, texts: Sequence[str], top: int) -> list[tuple[Match, ...]]:
        """Return the best codes of each text, best first; none for a text that matches no title."""
        queries = weighted(_counts(tuple(texts)), self._index.rarity)
        step = max(1, SCORES_AT_ONCE // self._index.titles.shape[1])
        ranked: list[tuple[Match, ...]] = []
        for start in range(0, len(texts), step):
            ranked += self._rank(self._scores(queries[start : start + step]), top)
        known = enough_known(texts, lambda hashes, _: self._index.knows(hashes), LEAST_KNOWN)
        return [found if enough else () for found, enough in zip(ranked, known, strict=True)]

    def why(self, texts: Sequence[str], codes: Sequence[str]) -> list[str]:
        """Return the words of each text that are in the titles of a code or of its relatives."""
        queries = weighted(_counts(tuple(texts)), self._index.rarity)
        queries.sort_indices()
        return [
            named(self._reasons(text, queries[row], code))
            for row, (text, code) in enumerate(zip(texts, codes, strict=True))
        ]

    def _reasons(self, text: str, query: sparse.csr_matrix, code: str) -> Reasons:
        kin = self._kinship[self._place[code]]
        in_titles = (self._index.titles[query.indices] @ kin.T).toarray()[:, 0]
        taken_apart = parts(text, BUYING_WORDS)
        return strongest(text, taken_apart, query.indices, query.data * in_titles, words)

    @cached_property
    def _place(self) -> dict[str, int]:
        return {code: place for place, code in enumerate(self._codes)}

    def _scores(self, queries: sparse.csr_matrix) -> Floats:
        """Return the score of each assignable code: texts x codes."""
        own = (queries @ self._index.titles).toarray()
        return np.ascontiguousarray((self._kinship @ own.T).T)

    def _rank(self, scores: Floats, top: int) -> list[tuple[Match, ...]]:
        order, best = highest(scores, max(top, 2))
        return [
            self._matches(places, values, top)
            for places, values in zip(order.tolist(), best.tolist(), strict=True)
        ]

    def _matches(self, places: list[int], values: list[float], top: int) -> tuple[Match, ...]:
        best, second = (*values, 0.0)[:2]  # a table may have one code only
        sure = _confidence(best, best - second)
        return tuple(
            Match(self._codes[place], self._titles[place], round(sure * value / best, 4))
            for place, value in zip(places[:top], values[:top], strict=True)
            if value > 0
        )


@lru_cache(maxsize=1)
def _counts(texts: tuple[str, ...]) -> sparse.csr_matrix:
    """Count the features of a batch once for all the systems that are asked about it."""
    return term_counts(texts, BUYING_WORDS)


def _confidence(score: float, lead: float) -> float:
    return 1 / (1 + exp(-(INTERCEPT + PER_SCORE * score + PER_LEAD * lead)))


def _kinship(table: CodeTable) -> sparse.csr_matrix:
    """Return codes x codes: the share of the column's score that the row's code gets."""
    place = {code: number for number, code in enumerate(table.titles)}
    below = Counter(above for code in place for above in table.ancestors(code))
    rows: list[int] = []
    columns: list[int] = []
    shares: list[float] = []
    for code, own in place.items():
        rows.append(own)
        columns.append(own)
        shares.append(1.0)
        for distance, above in enumerate(table.ancestors(code), start=1):
            rows += [own, place[above]]
            columns += [place[above], own]
            shares += [FROM_ABOVE**distance, FROM_BELOW**distance / sqrt(below[above])]
    size = (len(table), len(table))
    return sparse.csr_matrix((np.array(shares, np.float32), (rows, columns)), size)
