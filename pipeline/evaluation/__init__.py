"""Measures how good codes are: the engine, models and paid services on labelled tables."""

from pipeline.evaluation.entry import evaluate
from pipeline.evaluation.evaluation import Evaluation

__all__ = ["Evaluation", "evaluate"]
