"""Trains models on labelled tables, measures them on held-out rows and saves them."""

from pipeline.training.entry import train
from pipeline.training.run import TrainedModel, TrainedSystem

__all__ = ["TrainedModel", "TrainedSystem", "train"]
