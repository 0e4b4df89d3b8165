"""Trains classification models on labelled texts."""

from pipeline.engine.training.dataset import Dataset, Examples
from pipeline.engine.training.network import NetworkSettings
from pipeline.engine.training.task import Recipe, Task, history_recipe, history_task
from pipeline.engine.training.train import Trained, train, work

__all__ = [
    "Dataset",
    "Examples",
    "NetworkSettings",
    "Recipe",
    "Task",
    "Trained",
    "history_recipe",
    "history_task",
    "train",
    "work",
]
