"""The folder of a model: what it says of itself, and how it is known again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pipeline.answers import SYSTEMS, System
from pipeline.engine.model.expected import array_names, check_values
from pipeline.errors import SettingsError
from pipeline.files.regular import read_text

__all__ = [
    "ABOUT",
    "FORM",
    "KIND",
    "SHARED",
    "SHIPPED",
    "About",
    "ModelFolder",
    "checksum",
    "damaged",
    "is_model",
    "model_folder",
    "read_about",
    "shipped_models",
]

FORM = 3
"""Raised when the arrays, or the way the features are computed, change."""

KIND = "tender-pipeline model"
ABOUT = "model.json"

ABOUT_BYTES = 64 * 2**20
"""It names the codes of the history that were left out; there may be many."""

SHARED = "encoder"
"""Begins the names of the arrays that all systems of a model share."""

SHIPPED = Path(__file__).parent.parent / "shipped"
"""The models that come with the package."""


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


@dataclass(frozen=True, slots=True)
class About:
    """What a model says of itself, checked.

    Attributes:
        values: what of each of its systems fits in JSON.
        checksums: of its arrays.
        sha256: of all that it says.
    """

    values: Mapping[System, Mapping[str, Any]]
    checksums: Mapping[str, str]
    sha256: str


def is_model(folder: Path) -> bool:
    """Tell whether a folder says of itself that it is a model."""
    try:
        return bool(_said(folder)[0].get("kind") == KIND)
    except (OSError, ValueError):
        return False


def model_folder(path: Path) -> ModelFolder:
    """Return what a folder says it is.

    Raises:
        SettingsError: it is no model, damaged, or one of another version of this tool.
    """
    about = read_about(path)
    return ModelFolder(path, tuple(about.values), about.sha256)


def read_about(path: Path) -> About:
    """Read what a folder says of itself.

    Raises:
        SettingsError: it is no model, damaged, or one of another version of this tool.
    """
    try:
        said, digest = _said(path)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise _no_model(path) from error
    except OSError as error:
        raise damaged(path, f"{ABOUT}: {error.strerror or error}") from error
    except ValueError as error:
        raise damaged(path, f"{ABOUT}: {error}") from error
    if said.get("kind") != KIND:
        raise _no_model(path)
    _check_form(path, said.get("form"))
    try:
        return About(*_checked(said), digest)
    except ValueError as error:
        raise damaged(path, str(error)) from error


def _said(path: Path) -> tuple[dict[str, Any], str]:
    """Return (what a model's JSON says; its SHA-256).

    Raises:
        OSError: it cannot be read.
        ValueError: it is no JSON object.
    """
    text = read_text(path / ABOUT, ABOUT_BYTES)
    try:
        said = json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(said, dict):
        raise ValueError("it is no object")
    return said, sha256(text.encode()).hexdigest()


def _no_model(path: Path) -> SettingsError:
    return SettingsError(
        f"{path} is no model.", "Make one of your own history: tender-pipeline train."
    )


def _check_form(path: Path, form: Any) -> None:
    if not isinstance(form, int) or not 0 <= form < 1_000_000:
        raise damaged(path, "it has no form")
    if form != FORM:
        raise SettingsError(
            f"The model {path} has form {form}, and this version reads form {FORM}.",
            "Train it again with this version (tender-pipeline train), or use the other version.",
        )


def _checked(said: Mapping[str, Any]) -> tuple[dict[System, Any], dict[str, str]]:
    """Return (the values of each system; the checksums of the arrays).

    Raises:
        ValueError: they are not what training writes.
    """
    systems, checksums = said.get("systems"), said.get("arrays")
    if not isinstance(systems, dict) or not isinstance(checksums, dict) or not systems:
        raise ValueError("it does not say which systems and arrays it has")
    for system, values in systems.items():
        if system not in SYSTEMS:
            raise ValueError(f"there is no system {system[:20]!r}")
        check_values(values)
    for name, digest in checksums.items():
        if name not in array_names([*systems]) or not isinstance(digest, str):
            raise ValueError(f"there is no array {name[:40]!r}")
    return systems, checksums


@cache
def shipped_models() -> ModelFolder:
    """Return the models that come with the package."""
    return model_folder(SHIPPED)


def checksum(array: npt.NDArray[Any]) -> str:
    """Return the SHA-256 of an array's type, shape and values."""
    digest = sha256(f"{array.dtype.str} {array.shape}".encode())
    digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def damaged(path: Path, reason: str) -> SettingsError:
    """Return the error for a model that is not whole."""
    return SettingsError(
        f"The model {path} is damaged: {reason}.",
        "Copy it again from where it was made, or train it again: tender-pipeline train.",
    )
