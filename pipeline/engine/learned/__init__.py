"""The learned engine: a low-rank softmax on hashed features, with memory and calibration."""

from pipeline.engine.learned.course import Course, Recipe, history_course, history_recipe
from pipeline.engine.learned.examples import Examples
from pipeline.engine.learned.folder import ModelFolder, model_folder, shipped_models
from pipeline.engine.learned.lessons import Lessons
from pipeline.engine.learned.loading import load_model, opened
from pipeline.engine.learned.model import Model
from pipeline.engine.learned.network import Settings as NetworkSettings
from pipeline.engine.learned.saving import check_free, save
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
    "load_model",
    "model_folder",
    "opened",
    "save",
    "shipped_models",
    "train",
    "work",
]
