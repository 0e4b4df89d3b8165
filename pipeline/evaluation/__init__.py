"""Measures how good codes are: the engine, models and paid services on labelled tables."""

from pipeline.evaluation.evaluation import Evaluation
from pipeline.evaluation.run import evaluate

__all__ = ["Evaluation", "evaluate"]
