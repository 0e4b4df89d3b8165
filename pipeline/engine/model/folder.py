"""The metadata of a model folder: the systems of a model, and the checksums of its arrays."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pipeline.answers import SYSTEMS, System
from pipeline.errors import SettingsError, reason
from pipeline.files.regular import read_text
from pipeline.wording import TRAIN, option

FORM = 4
"""Format version, incremented when the arrays or the feature computation change."""

KIND = "tender-pipeline model"
ABOUT = "model.json"

ABOUT_BYTES = 64 * 2**20
"""Size limit of `ABOUT`, which lists the history's codes that were left out, maybe many."""

MALFORMED = (
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    OverflowError,
    RecursionError,
)
"""What is raised if the metadata or the arrays are not as training writes them."""

SHARED = "encoder"
"""Name prefix of the arrays that all systems of a model share."""

SHIPPED = Path(__file__).parent.parent / "shipped"
"""The model that comes with the package."""


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A model on disk, for one system or for several that share an encoder.

    Attributes:
        path: the folder of the model, absolute.
        systems: the systems whose codes it gives.
        sha256: hash of the metadata, which includes the checksums of the arrays.
        ok_from: for each system, the confidence from which its codes are ``ok``; a system is
            missing if the held-out rows show no such confidence, or an older version trained it.
        values: the JSON values of each system.
        checksums: the checksum of each array.
    """

    path: Path
    systems: tuple[System, ...]
    sha256: str
    ok_from: Mapping[System, float] = field(compare=False, repr=False)
    values: Mapping[System, Mapping[str, Any]] = field(compare=False, repr=False)
    checksums: Mapping[str, str] = field(compare=False, repr=False)


def is_model(folder: Path) -> bool:
    """Return whether the metadata of a folder declares it a model."""
    try:
        return bool(_read_content(folder)[0].get("kind") == KIND)
    except (OSError, ValueError, RecursionError):
        return False


def model_folder(path: Path) -> ModelFolder:
    """Return the model in a folder, based on its metadata.

    Raises:
        SettingsError: it is not a model, is damaged, or needs another version of this tool.
    """
    try:
        content, digest = _read_content(path)
        if content.get("kind") != KIND:
            raise _no_model(path)
        if (form := content["form"]) != FORM:
            raise SettingsError(
                f"The model {path} has form {str(form)[:9]}, and this version reads form {FORM}.",
                f"Train it again with this version ({TRAIN}), or use the other version.",
            )
        values, checksums = content["systems"], content["arrays"]
        if not values:
            raise ValueError("it has no system")
        if unknown := values.keys() - {*SYSTEMS}:
            raise ValueError(f"there is no system {min(unknown)[:20]!r}")
        ok_from = _ok_from(content.get("about"), values)
        where = path.absolute()  # a worker, or a review, may be in another folder
        return ModelFolder(where, tuple(values), digest, ok_from, values, {**checksums})
    except (FileNotFoundError, NotADirectoryError) as error:
        raise _no_model(path) from error
    except OSError as error:
        raise damaged(path, f"{ABOUT}: {reason(error)}") from error
    except MALFORMED as error:
        raise damaged(path, error) from error


def _read_content(path: Path) -> tuple[dict[str, Any], str]:
    """Return (the content of a model's JSON file, its SHA-256).

    Raises:
        OSError: the file cannot be read.
        ValueError, RecursionError: the file does not hold a JSON object.
    """
    text = read_text(path / ABOUT, ABOUT_BYTES)
    content = json.loads(text)
    if not isinstance(content, dict):
        raise ValueError("it is no object")
    return content, sha256(text.encode()).hexdigest()


def _no_model(path: Path) -> SettingsError:
    return SettingsError(
        f"{path} {'is not a model' if path.exists() else 'does not exist'}.",
        f"Name the folder that {TRAIN} made of your own history: {option('models', 'DIR')}.",
    )


def _ok_from(about: Any, systems: Iterable[System]) -> dict[System, float]:
    """Return the threshold of each system that has one, from the figures of the training."""
    thresholds: dict[System, float] = {}
    for system in systems:
        try:
            ok = about.get(system, about)["held_back"]["ok"]
            shown, confidence = ok["right_at_least"] > 0, ok["confidence"]
        except (AttributeError, KeyError, TypeError):
            continue  # an older version wrote a threshold without evidence
        if shown and isinstance(confidence, float) and 0 <= confidence <= 1:
            thresholds[system] = confidence
    return thresholds


@cache
def shipped_model() -> ModelFolder:
    """Return the model that comes with the package and knows all systems."""
    return model_folder(SHIPPED)


def checksum(array: npt.NDArray[Any]) -> str:
    """Return the SHA-256 of an array's type, shape and values."""
    digest = sha256(f"{array.dtype.str} {array.shape}".encode())
    digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def damaged(path: Path, error: Exception | str) -> SettingsError:
    """Return the error for a damaged model; see `MALFORMED`."""
    reason = str(error)
    if isinstance(error, KeyError):
        reason = f"it lacks {error}"
    elif isinstance(error, RecursionError):
        reason = "it is nested too deeply"
    return SettingsError(
        f"The model {path} is damaged: {reason}.",
        f"Copy it again from where it was made, or train it again: {TRAIN}.",
    )
