"""Replaces an uncertain code with its deepest ancestor that is confident enough."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache

from msgspec.structs import replace

from pipeline.answers import Answer, Match, Matched, System
from pipeline.classification.per_answer import PerAnswer
from pipeline.codes import CodeTable, find_code, load
from pipeline.codes.table import parent, stem
from pipeline.settings import Settings

__all__ = ["RollUp", "roll_ups"]

LINES_KEPT = 100_000
"""Codes whose ancestors are cached; an answer names twenty codes."""

DIGITS = 6
"""Decimal places of a sum; without rounding, .5 + .3 is less than .8."""


def roll_ups(settings: Settings) -> Mapping[System, PerAnswer[Answer | None]]:
    """Return what rolls up the answers of each system; nothing unless the settings ask for it."""
    systems = settings.systems
    if settings.roll_up is None:
        return {}
    rolls = {system: RollUp(load(system), settings.roll_up) for system in systems}
    return {system: PerAnswer(roll.answer, len(systems)) for system, roll in rolls.items()}


class RollUp:
    """Rolls up the answers of one system.

    A code's confidence is the sum over the listed matches at or below it, capped at 1.

    A code is sure from the confidence ``sure`` on.
    """

    def __init__(self, table: CodeTable, sure: float) -> None:
        self._table = table
        self._sure = sure
        self._line = lru_cache(LINES_KEPT)(self._uncached_line)

    def answer(self, answer: Answer | None) -> Answer | None:
        """Insert the deepest confident code before the matches, if the first match is not.

        If no code is confident enough, even at the top level, the answer does not change.
        """
        if not isinstance(answer, Matched) or not answer.matches:
            return answer
        if answer.matches[0].confidence >= self._sure:
            return answer
        deepest = self._deepest(answer.matches)
        if deepest is None:
            return answer
        rest = (match for match in answer.matches if match.code != deepest.code)
        return replace(answer, matches=(deepest, *rest))

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

    def _uncached_line(self, written: str) -> tuple[str, ...]:
        """Return a code and its ancestors; only the ancestors if the table lacks the code."""
        code = find_code(self._table, written) or written.strip().upper()
        if code not in self._table:
            code = parent(self._table.system, code, self._table.titles)
        line = [code, *self._table.ancestors(code)] if code else []
        return tuple(each for each in line if self._table.titles[each])
