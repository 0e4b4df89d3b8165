"""Gives, instead of a doubtful code, the deepest code above it that is sure enough."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from pipeline.answers import Answer, BatchAnswers, Match, Matched, Matcher, System
from pipeline.codes import CodeTable, find_code, load
from pipeline.codes.levels import parent, stem
from pipeline.settings import Settings

__all__ = ["BackOff", "backed_off"]

LINES_KEPT = 100_000
"""Codes whose line of ancestors is remembered; an answer names twenty codes."""

DIGITS = 6
"""Sums are rounded to so many, lest .5 + .3 be less than .8."""


def backed_off(matcher: Matcher, settings: Settings) -> Matcher:
    """Return a matcher that backs off where the settings want that."""
    if settings.back_off is None:
        return matcher
    return _BackedOff(matcher, settings.systems, settings.back_off)


class BackOff:
    """Backs off within one system.

    A code's confidence is the sum of those of the listed matches at or below it, at most 1.

    Args:
        table: the codes, which of them are above others, and their titles.
        sure: how much confidence is enough.
    """

    def __init__(self, table: CodeTable, sure: float) -> None:
        self._table = table
        self._sure = sure
        self._line = lru_cache(LINES_KEPT)(self._found_line)

    def answer(self, answer: Answer | None) -> Answer | None:
        """Put the deepest code that is sure enough before the matches, if the first one is not.

        If none is, not even at the top, the answer stays as it is.
        """
        if not isinstance(answer, Matched) or not answer.matches:
            return answer
        if answer.matches[0].confidence >= self._sure:
            return answer
        given = self._deepest(answer.matches)
        if given is None:
            return answer
        rest = (match for match in answer.matches if match.code != given.code)
        return replace(answer, matches=(given, *rest))

    def _deepest(self, matches: Sequence[Match]) -> Match | None:
        sums: dict[str, float] = defaultdict(float)
        for match in matches:
            for code in self._line(match.code):
                sums[code] += max(0.0, match.confidence)
        sums = {code: min(1.0, round(total, DIGITS)) for code, total in sums.items()}
        sure = [code for code, total in sums.items() if total >= self._sure]
        if not sure:
            return None
        deepest = max(sure, key=lambda code: (self._depth(code), sums[code]))
        return Match(deepest, self._table.titles[deepest], sums[deepest])

    def _depth(self, code: str) -> int:
        return len(stem(self._table.system, code))

    def _found_line(self, written: str) -> tuple[str, ...]:
        """Return a code and those above it; of one that the table lacks, those that it has."""
        code = find_code(self._table, written) or written.strip().upper()
        if code not in self._table:
            code = parent(self._table.system, code, self._table.titles)
        line = [code, *self._table.ancestors(code)] if code else []
        return tuple(each for each in line if self._table.titles[each])


class _BackedOff:
    """Asks a matcher and backs off in its answers."""

    def __init__(self, matcher: Matcher, systems: Sequence[System], sure: float) -> None:
        self._matcher = matcher
        self._by_system = {system: BackOff(load(system), sure) for system in systems}

    def answers(self, batches: Iterable[Sequence[str]]) -> Iterator[BatchAnswers]:
        """Answer batches of texts; see `pipeline.answers.Matcher`."""
        for answers in self._matcher.answers(batches):
            yield {
                system: [back_off.answer(answer) for answer in answers[system]]
                for system, back_off in self._by_system.items()
            }
