"""The learned engine: a low-rank softmax on hashed features, with memory and calibration."""

from pipeline.engine.learned.folder import ModelFolder, is_model, load_model, model_folder, save
from pipeline.engine.learned.model import Model
from pipeline.engine.learned.train import Examples, Trained, train

__all__ = [
    "Examples",
    "Model",
    "ModelFolder",
    "Trained",
    "is_model",
    "load_model",
    "model_folder",
    "save",
    "train",
]
