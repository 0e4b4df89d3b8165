"""Trains models from labelled texts."""

from pipeline.engine.training.dataset import Lessons
from pipeline.engine.training.examples import Examples
from pipeline.engine.training.network import Settings as NetworkSettings
from pipeline.engine.training.other_languages import OtherLanguages
from pipeline.engine.training.task import Course, Recipe, history_course, history_recipe
from pipeline.engine.training.train import train, work
from pipeline.engine.training.validation import Trained

__all__ = [
    "Course",
    "Examples",
    "Lessons",
    "NetworkSettings",
    "OtherLanguages",
    "Recipe",
    "Trained",
    "history_course",
    "history_recipe",
    "train",
    "work",
]
