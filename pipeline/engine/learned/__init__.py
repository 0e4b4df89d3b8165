"""The learned engine: a low-rank softmax on hashed features, with memory and calibration."""

from pipeline.engine.learned.course import Course, Recipe, history_course, history_recipe
from pipeline.engine.learned.examples import Examples
from pipeline.engine.learned.folder import (
    ModelFolder,
    check_free,
    is_model,
    load_model,
    model_folder,
    opened,
    save,
    shipped_models,
)
from pipeline.engine.learned.lessons import Lessons
from pipeline.engine.learned.model import Model
from pipeline.engine.learned.network import Settings as NetworkSettings
from pipeline.engine.learned.train import train, work
from pipeline.engine.learned.trial import Trained

__all__ = [
    "Course",
    "Examples",
    "Lessons",
    "Model",
    "ModelFolder",
    "NetworkSettings",
    "Recipe",
    "Trained",
    "check_free",
    "history_course",
    "history_recipe",
    "is_model",
    "load_model",
    "model_folder",
    "opened",
    "save",
    "shipped_models",
    "train",
    "work",
]
