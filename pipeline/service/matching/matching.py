"""Finds the matches of many calls to several systems at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from pipeline.answers import Answer, Matcher, System

__all__ = ["Matching", "Question"]

Question: TypeAlias = tuple[System, str]
"""A system and a text."""

MOST_OF_THEM = 0.5
"""A system that is asked about this share of the texts is asked about all of them.

The engine reads a list of texts once for all systems that get the same list. Measured on calls that
arrive row by row, 32 and 64 at once: 0.90 and 0.58 ms each, against 1.09 and 0.78 with separate
lists.
"""


class Matching:
    """Answers batches of questions, one batch after the other.

    A batch of calls that arrive row by row may end within a row. The systems that the next batch is
    asked about were mostly answered too, so the answers of one batch are kept for the next.

    Args:
        matchers: the matcher of each system.
    """

    def __init__(self, matchers: Mapping[System, Matcher]) -> None:
        self._matchers = matchers
        self._last: dict[Question, Answer | None] = {}

    def answers(self, questions: Sequence[Question]) -> list[Answer | None]:
        """Return the answers to questions, in their order, from the matcher of each system."""
        asked: dict[System, dict[str, None]] = {}
        for system, text in questions:
            if (system, text) not in self._last:
                asked.setdefault(system, {})[text] = None
        every = list(dict.fromkeys(text for own in asked.values() for text in own))
        found: dict[Question, Answer | None] = {}
        for system, own in asked.items():
            texts = every if len(own) >= MOST_OF_THEM * len(every) else list(own)
            (answers,) = self._matchers[system].answers([texts])
            found.update(
                {(system, text): one for text, one in zip(texts, answers[system], strict=True)}
            )
        answered = [(found if one in found else self._last)[one] for one in questions]
        self._last = found
        return answered
