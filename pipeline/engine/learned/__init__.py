"""The learned engine: a low-rank softmax on hashed features, with memory and calibration."""

from pipeline.engine.learned.folder import (
    ModelFolder,
    check_free,
    is_model,
    load_model,
    model_folder,
    opened,
    save,
)
from pipeline.engine.learned.lessons import Labels, Lessons, title_examples
from pipeline.engine.learned.model import Model
from pipeline.engine.learned.train import Examples, Trained, train, work

__all__ = [
    "Examples",
    "Labels",
    "Lessons",
    "Model",
    "ModelFolder",
    "Trained",
    "check_free",
    "is_model",
    "load_model",
    "model_folder",
    "opened",
    "save",
    "title_examples",
    "train",
    "work",
]
