"""Caches what is computed of an answer, for the rows that share it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from pipeline.answers import Answer, Matched

__all__ = ["PerAnswer"]

T = TypeVar("T")

MOST_BYTES = 32 << 20
"""The memory for the cached results and their answers, over all systems."""

TRIAL_BYTES = 2 << 20
"""Once the cache is this large, it is given up if hardly any row shares an answer."""

RARELY = 0.02
"""If fewer rows than this share the answer of an earlier row, the cache does not pay."""

ANSWER_BYTES, MATCH_BYTES = 400, 250
"""The memory of an answer with its result, and of each of its matches."""


class PerAnswer(Generic[T]):
    """A function of answers with a cache: rows that share an answer share a call.

    The embedded engine makes a new answer for each row, while the ledger's matcher returns the same
    one for all rows with a text. When the cache is full, all of it is dropped.

    Args:
        function: returns the result for an answer.
        systems: how many systems have such an object of their own; they share the memory.
    """

    def __init__(self, function: Callable[[Answer | None], T], systems: int = 1) -> None:
        self._function = function
        self._most = MOST_BYTES // systems
        self._trial = True
        self._forget()

    def __call__(self, answers: Sequence[Answer | None]) -> list[T]:
        """Return the results for the answers of a batch."""
        if not self._most:
            return [*map(self._function, answers)]
        known, new = self._known, self._new
        results = [known.get(id(answer)) or new(answer) for answer in answers]
        self._rows += len(answers)
        if self._trial and self._bytes > TRIAL_BYTES:
            self._trial = False
            if self._rows - len(self._alive) < RARELY * self._rows:
                self._most = 0
        if self._bytes > self._most:
            self._forget()
        return results

    def _new(self, answer: Answer | None) -> T:
        self._known[id(answer)] = result = self._function(answer)
        self._alive.append(answer)
        matches = answer.matches if isinstance(answer, Matched) else ()
        self._bytes += ANSWER_BYTES + MATCH_BYTES * len(matches)
        return result

    def _forget(self) -> None:
        self._known: dict[int, T] = {}
        self._alive: list[Answer | None] = []  # so that no other answer gets the same id
        self._bytes = self._rows = 0
