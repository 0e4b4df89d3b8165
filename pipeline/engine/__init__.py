"""The embedded engine: classifies texts offline, by learned models or by the codes' titles."""

from pipeline.engine.engine import Engine, embedded
from pipeline.engine.rankers import Ranker, ranker

__all__ = ["Engine", "Ranker", "embedded", "ranker"]
