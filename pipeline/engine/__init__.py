"""The embedded engine: classifies texts offline, by learned models."""

from pipeline.engine.engine import Engine, ranker
from pipeline.engine.model.ranker import Ranker
from pipeline.engine.search import searched

__all__ = ["Engine", "Ranker", "ranker", "searched"]
