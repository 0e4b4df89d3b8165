"""Asks for the matches of many calls at once, about whichever systems they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from pipeline.answers import Answer, Matcher, System

__all__ = ["Question", "answers_to"]

Question: TypeAlias = tuple[System, str]
"""A system, and the text that it is asked about."""

MOST_OF_THEM = 0.5
"""A system that is asked about so many of the texts is asked about all of them.

The engine reads a list of texts once for all systems that are asked about the same list. Measured
on calls that come row by row, 32 and 64 at once: 0.90 and 0.58 ms each, 1.09 and 0.78 if every
system is asked about its own list.
"""


def answers_to(
    questions: Sequence[Question], matchers: Mapping[System, Matcher]
) -> list[Answer | None]:
    """Answer questions, in their order.

    Args:
        questions: what is asked.
        matchers: who answers for each system.
    """
    every = list(dict.fromkeys(text for _, text in questions))
    asked: dict[System, dict[str, None]] = {}
    for system, text in questions:
        asked.setdefault(system, {})[text] = None
    found: dict[Question, Answer | None] = {}
    for system, own in asked.items():
        texts = every if len(own) >= MOST_OF_THEM * len(every) else list(own)
        (answers,) = matchers[system].answers([texts])
        found.update(
            {(system, text): one for text, one in zip(texts, answers[system], strict=True)}
        )
    return [found[question] for question in questions]
