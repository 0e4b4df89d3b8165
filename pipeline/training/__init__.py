"""Trains models on labelled tables, measures them on held-out rows and saves them."""

from pipeline.training.entry import train
from pipeline.training.run import (
    TrainingSettings,
    check_output,
    check_recipe_alone,
    checked_system,
    from_history,
    from_recipe,
)
from pipeline.training.trained_model import TrainedModel, TrainedSystem

__all__ = [
    "TrainedModel",
    "TrainedSystem",
    "TrainingSettings",
    "check_output",
    "check_recipe_alone",
    "checked_system",
    "from_history",
    "from_recipe",
    "train",
]
