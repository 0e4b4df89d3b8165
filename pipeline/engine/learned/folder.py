"""The folder of a model: what it says of itself, and how it is known again."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pipeline.answers import SYSTEMS, System
from pipeline.errors import SettingsError

__all__ = [
    "ABOUT",
    "DAMAGE",
    "FORM",
    "KIND",
    "SHARED",
    "SHIPPED",
    "ModelFolder",
    "checksum",
    "damaged",
    "is_model",
    "model_folder",
    "shipped_models",
]

FORM = 2
"""Raised when the arrays, or the way the features are computed, change."""

KIND = "tender-pipeline model"
ABOUT = "model.json"

SHARED = "encoder"
"""Begins the names of the arrays that all systems of a model share."""

SHIPPED = Path(__file__).parent.parent / "shipped"
"""The models that come with the package."""

DAMAGE = (OSError, ValueError, EOFError, LookupError, TypeError, AttributeError)
"""What reading raises where a file is missing or torn, or was not written by us."""


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A model on disk, of one system or of several that share an encoder.

    Attributes:
        path: its folder.
        systems: whose codes it gives.
        sha256: of what the folder says of itself, the checksums of its arrays included.
    """

    path: Path
    systems: tuple[System, ...]
    sha256: str


def is_model(folder: Path) -> bool:
    """Tell whether a folder says of itself that it is a model."""
    try:
        return bool(json.loads((folder / ABOUT).read_text("utf-8"))["kind"] == KIND)
    except DAMAGE:
        return False


def model_folder(path: Path) -> ModelFolder:
    """Return what a folder says it is.

    Raises:
        SettingsError: it is no model, or one of another version of this tool.
    """
    if not is_model(path):
        raise SettingsError(
            f"{path} is no model.", "Make one of your own history: tender-pipeline train."
        )
    text = (path / ABOUT).read_bytes()
    about = json.loads(text)
    if about.get("form") != FORM:
        raise SettingsError(
            f"The model {path} has form {about.get('form')}, and this version reads form {FORM}.",
            "Train it again with this version (tender-pipeline train), or use the other version.",
        )
    systems = about.get("systems") or {}
    for system in systems:
        if system not in SYSTEMS:
            raise damaged(path, f"there is no system {system!r}")
    return ModelFolder(path, tuple(systems), sha256(text).hexdigest())


@cache
def shipped_models() -> ModelFolder:
    """Return the models that come with the package."""
    return model_folder(SHIPPED)


def checksum(array: npt.NDArray[Any]) -> str:
    """Return the SHA-256 of an array: of its type and shape, and of what stands in it."""
    digest = sha256(f"{array.dtype.str} {array.shape}".encode())
    digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def damaged(path: Path, reason: str) -> SettingsError:
    """Return the error for a model that is not whole."""
    return SettingsError(
        f"The model {path} is damaged: {reason}.",
        "Copy it again from where it was made, or train it again: tender-pipeline train.",
    )
