"""Which ranker answers for a system: by a learned model, or by the titles of the codes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from typing import Protocol

from pipeline.answers import Match, System
from pipeline.codes import load
from pipeline.engine.lexical.index import kept_index
from pipeline.engine.lexical.ranker import LexicalRanker
from pipeline.engine.model import ModelFolder, load_model, shipped_models
from pipeline.engine.model.ranker import LearnedRanker
from pipeline.settings import EngineName

__all__ = ["Ranker", "ranker"]


class Ranker(Protocol):
    """Ranks the codes of one system for texts."""

    def rank(self, texts: Sequence[str], top: int) -> list[tuple[Match, ...]]:
        """Return up to ``top`` matches a text, best first, confidence from 0 to 1."""
        ...

    def why(self, texts: Sequence[str], codes: Sequence[str]) -> list[str]:
        """Say in words what spoke for the code that was the best of each text; "" for nothing."""
        ...


@cache
def ranker(
    system: System, engine: EngineName = "learned", model: ModelFolder | None = None
) -> Ranker:
    """Return the ranker of a system; it is loaded once a process.

    Args:
        system: whose codes to rank.
        engine: ``learned`` answers by a model; ``lexical`` by titles alone.
        model: a model of that system in place of the one that is shipped.

    Raises:
        SettingsError: the model is damaged, or was replaced since it was opened.
    """
    if engine == "lexical":
        return _by_title(system)
    learned = load_model(model or shipped_models(), system)
    return LearnedRanker(learned, load(system), partial(_by_title, system))


@cache
def _by_title(system: System) -> Ranker:
    table = load(system)
    return LexicalRanker(table, kept_index(table))
