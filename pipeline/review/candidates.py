"""What a reviewer can choose from: candidates, their place in the code tree, and the search."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.answers import System
from pipeline.classification.excerpts import named_words
from pipeline.codes import CodeTable, find_code, load, titles
from pipeline.codes.table import stem
from pipeline.engine import Ranker, ranker, searched
from pipeline.review.queue import Item
from pipeline.review.table import EnrichedTable

__all__ = ["MOST", "Candidate", "Candidates", "marked"]

MOST = 9
"""Candidates on the page: each has a key."""

WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A code that can be chosen, with the codes above it, each short and titled, from the top.

    It has no confidence if nobody ranked it; `below` counts the codes right below it.
    """

    code: str
    title: str
    confidence: float | None
    above: tuple[tuple[str, str], ...]
    below: int = 0


class Candidates:
    """Finds candidates for the texts of a table, whose run says which models to ask."""

    def __init__(self, table: EnrichedTable) -> None:
        self._table = table

    def load(self) -> None:
        """Load what ranks and searches, so that the first text does not wait for it."""
        for system in self._table.systems:
            self._ranker(system).rank(["?"], 1)
            self.search(system, "?")

    def of(self, item: Item) -> list[Candidate]:
        """Return the best codes for a text: those of the table first, then the engine's."""
        ranked = {item.code: item.confidence} if item.code else {}
        for code, _, sure in item.matches:
            ranked.setdefault(code, sure)
        if len(ranked) < MOST:
            (matches,) = self._ranker(item.system).rank([item.text], MOST)
            for match in matches:
                ranked.setdefault(match.code, match.confidence)
        codes = load(item.system)
        return [
            self._candidate(codes, code, sure, item.titles.get(code, ""))
            for code, sure in list(ranked.items())[:MOST]
        ]

    def words(self, item: Item) -> list[str]:
        """Return the words of a text that speak for its best match, the strongest first."""
        model = self._table.models.get(item.system)
        return named_words(item.text, item.system, item.code, self._table.engine, model)

    def search(self, system: System, words: str) -> list[Candidate]:
        """Search the codes as `searched` does; a code finds itself and those below."""
        codes = load(system)
        code = find_code(codes, words)
        if code is not None:
            found = [code, *codes.children(code)]
            usual = [each for each in found if codes.assignable(each)]
            return [self._candidate(codes, each) for each in usual[:MOST]]
        matches = searched(system, words, MOST)
        return [self._candidate(codes, match.code) for match in matches]

    def _ranker(self, system: System) -> Ranker:
        return ranker(system, self._table.engine, self._table.models.get(system))

    def _candidate(
        self, codes: CodeTable, code: str, confidence: float | None = None, title: str = ""
    ) -> Candidate:
        if code not in codes:
            return Candidate(code, title, confidence, ())
        shown = titles(codes.system, self._table.language)
        above = tuple(
            (stem(codes.system, each), shown[each]) for each in reversed(codes.ancestors(code))
        )
        return Candidate(code, shown[code], confidence, above, len(codes.children(code)))


def marked(text: str, words: list[str]) -> Iterator[tuple[str, bool]]:
    """Split a text into parts; yield each with whether it is one of the words."""
    wanted = {word.casefold() for word in words}
    start = 0
    for match in WORD.finditer(text):
        if match[0].casefold() in wanted:
            if match.start() > start:
                yield text[start : match.start()], False
            yield match[0], True
            start = match.end()
    if start < len(text):
        yield text[start:], False
