"""Loads the ranker of a system: by a learned model, or by the titles of the codes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import Protocol

from pipeline.answers import Match, System
from pipeline.codes import load
from pipeline.engine.model import ModelFolder, load_model, shipped_model
from pipeline.engine.model.ranker import LearnedRanker
from pipeline.settings import EngineName

__all__ = ["Ranker", "ranker"]


class Ranker(Protocol):
    """Ranks the codes of one system for texts."""

    def rank(self, texts: Sequence[str], top: int) -> list[tuple[Match, ...]]:
        """Return up to ``top`` matches a text, best first, confidence from 0 to 1."""
        ...

    def why(self, texts: Sequence[str], codes: Sequence[str]) -> list[str]:
        """Return the words of each text that count for a code, as one string; "" for none."""
        ...


@cache
def ranker(
    system: System, engine: EngineName = "learned", model: ModelFolder | None = None
) -> Ranker:
    """Return the ranker of a system; each process loads it once.

    The engine ``learned`` answers by a model, the shipped one if none is given; ``lexical`` answers
    by titles alone.

    Raises:
        SettingsError: the model is damaged, or was replaced since it was opened.
    """
    table = load(system)
    if engine == "lexical":
        # Few runs need the titles, and importing SciPy for them takes a fifth of a start.
        from pipeline.engine.lexical.index import kept_index
        from pipeline.engine.lexical.ranker import LexicalRanker

        return LexicalRanker(table, kept_index(table))
    learned = load_model(model or shipped_model(), system)
    return LearnedRanker(learned, table, partial(ranker, system, "lexical"))
