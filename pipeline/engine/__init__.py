"""The embedded engine: classifies texts offline, by the packaged code tables or learned models."""

from pipeline.engine.engine import Engine, embedded
from pipeline.engine.rankers import Ranker, ranker

__all__ = ["Engine", "Ranker", "embedded", "ranker"]
