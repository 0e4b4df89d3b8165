"""The learned engine: a low-rank softmax on hashed features, with calibration."""

from pipeline.engine.model.folder import (
    ModelFolder,
    model_folder,
    shipped_model,
)
from pipeline.engine.model.loading import check_arrays, check_free, load_model, open_models, save
from pipeline.engine.model.model import Model

__all__ = [
    "Model",
    "ModelFolder",
    "check_arrays",
    "check_free",
    "load_model",
    "model_folder",
    "open_models",
    "save",
    "shipped_model",
]
