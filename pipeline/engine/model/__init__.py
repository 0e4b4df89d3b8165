"""The learned engine: a low-rank softmax on hashed features, with memory and calibration."""

from pipeline.engine.model.folder import ModelFolder, model_folder, shipped_models
from pipeline.engine.model.loading import load_model, opened
from pipeline.engine.model.model import Model
from pipeline.engine.model.saving import check_free, save
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
    "Model",
    "ModelFolder",
    "NetworkSettings",
    "OtherLanguages",
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
