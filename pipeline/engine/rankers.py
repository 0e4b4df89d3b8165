"""Which ranker answers for a system: the one place where a better one takes over."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Protocol

from pipeline.answers import Match, System
from pipeline.codes import load
from pipeline.engine.index import kept_index
from pipeline.engine.lexical import LexicalRanker

__all__ = ["Ranker", "ranker"]


class Ranker(Protocol):
    """Ranks the codes of one system for texts."""

    def rank(self, texts: Sequence[str], top: int) -> list[tuple[Match, ...]]:
        """Return up to ``top`` matches a text, best first, confidence from 0 to 1."""
        ...


@cache
def ranker(system: System) -> Ranker:
    """Return the ranker of a system; it is loaded once a process."""
    table = load(system)
    return LexicalRanker(table, kept_index(table))
