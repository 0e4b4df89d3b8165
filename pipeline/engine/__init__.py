"""The embedded engine: classifies texts offline from the packaged code tables."""

from pipeline.engine.engine import Engine
from pipeline.engine.rankers import Ranker, ranker

__all__ = ["Engine", "Ranker", "ranker"]
