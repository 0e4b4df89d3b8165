"""The embedded engine: classifies texts offline, by learned models or by the codes' titles."""

from pipeline.engine.engine import Engine
from pipeline.engine.rankers import Ranker, ranker
from pipeline.engine.search import searched

__all__ = ["Engine", "Ranker", "ranker", "searched"]
