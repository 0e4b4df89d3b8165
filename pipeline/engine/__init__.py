"""The embedded engine: classifies texts offline, by learned models."""

from pipeline.engine.engine import Engine, Ranker, ranker
from pipeline.engine.search import searched

__all__ = ["Engine", "Ranker", "ranker", "searched"]
