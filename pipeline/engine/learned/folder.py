"""Keeps a model as a folder of arrays that are memory-mapped, and refuses one that is not whole."""

from __future__ import annotations

import json
import logging
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pipeline.answers import SYSTEMS, System
from pipeline.engine.learned import stored
from pipeline.engine.learned.encoder import Encoder
from pipeline.engine.learned.model import Model
from pipeline.engine.learned.scorer import Scores
from pipeline.engine.learned.stored import Arrays
from pipeline.errors import OutputError, SettingsError
from pipeline.placing import sync, translated

__all__ = [
    "ModelFolder",
    "check_free",
    "checksum",
    "is_model",
    "load_model",
    "model_folder",
    "opened",
    "save",
    "shipped_models",
]

FORM = 2
"""Raised when the arrays, or the way the features are computed, change."""

log = logging.getLogger(__name__)

KIND = "tender-pipeline model"
ABOUT = "model.json"

SHARED = "encoder"

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


def save(
    models: Sequence[Model], folder: Path, about: Mapping[str, Any], overwrite: bool = False
) -> None:
    """Write models beside their place and move them there at once; older ones are replaced.

    Args:
        models: what to keep: one a system, with one encoder.
        folder: where.
        about: JSON types to keep with it, such as how it was trained.
        overwrite: whether a folder that is no model may be replaced.

    Raises:
        OutputError: the folder may not or cannot be written.
    """
    check_free(folder, overwrite)
    place = folder.resolve()
    with translated(folder):
        place.parent.mkdir(parents=True, exist_ok=True)
        rubbish = Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent))
    try:
        with translated(folder):
            draft = rubbish / "new"
            draft.mkdir()
            _write(models, draft, about)
            _put(draft, place, rubbish / "old")
            sync(place.parent)
    finally:
        shutil.rmtree(rubbish, ignore_errors=True)


def _put(draft: Path, place: Path, old: Path) -> None:
    """Move a folder into its place; what stood there comes back if that fails."""
    if place.exists():
        place.replace(old)
    try:
        draft.replace(place)
    except OSError:
        if old.exists():
            old.replace(place)
        raise


def check_free(folder: Path, overwrite: bool) -> None:
    """Refuse a place for a model that holds something else, before anything is done.

    Raises:
        OutputError: it does.
    """
    place = folder.resolve()
    if place == Path.cwd() or place in Path.cwd().parents:
        raise OutputError(f"{folder} is where you are.", "Give a folder of its own: --output DIR.")
    if place.exists() and not place.is_dir():
        raise OutputError(f"{folder} is a file.", "Give a folder of its own: --output DIR.")
    if place.exists() and any(place.iterdir()) and not (overwrite or is_model(place)):
        raise OutputError(
            f"{folder} is no model of this tool.",
            "Write elsewhere (--output DIR), or replace it and all that is in it with --overwrite.",
        )


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
            raise _damaged(path, f"there is no system {system!r}")
    return ModelFolder(path, tuple(systems), sha256(text).hexdigest())


@cache
def shipped_models() -> ModelFolder:
    """Return the models that come with the package."""
    return model_folder(SHIPPED)


def opened(folders: Sequence[str], systems: Sequence[System]) -> dict[System, ModelFolder]:
    """Return the models in some folders, after having loaded each once to see that it is whole.

    Args:
        folders: at most one a system.
        systems: those that are asked for.

    Raises:
        SettingsError: one is no model, damaged, or not of a system that is asked for.
    """
    models: dict[System, ModelFolder] = {}
    for name in folders:
        folder = model_folder(Path(name))
        asked = [system for system in folder.systems if system in systems]
        if not asked:
            raise SettingsError(
                f"{name} is a model of {', '.join(folder.systems)}, which is not asked for.",
                f"Ask for it (--systems {','.join(folder.systems)}), or leave the model out.",
            )
        for system in asked:
            if system in models:
                raise SettingsError(
                    f"{models[system].path} and {name} are both models of {system}.",
                    "Give one model a system: --model DIR.",
                )
            load_model(folder, system)
            models[system] = folder
    return models


@cache
def load_model(folder: ModelFolder, system: System) -> Model:
    """Map one system of a model into memory, once a process; its head and memory are unpacked.

    Raises:
        SettingsError: it is damaged, or was replaced since it was opened.
    """
    if model_folder(folder.path) != folder:
        raise SettingsError(
            f"The model {folder.path} was replaced meanwhile.", "Run the command again."
        )
    try:
        about = json.loads((folder.path / ABOUT).read_text("utf-8"))
        values = about["systems"][system]
        beside = _beside(folder, system, values)
        arrays = _read(folder, about["arrays"], system)
        return stored.model(system, arrays, values, _encoder(folder), beside)
    except DAMAGE as error:
        raise _damaged(folder.path, str(error)) from error


def _beside(folder: ModelFolder, system: System, values: Mapping[str, Any]) -> Scores | None:
    """Return the shipped model's scores, for a model that answers together with them."""
    if values["weight"] is None:
        return None
    shipped = shipped_models()
    if values["beside"] != shipped.sha256:
        log.warning(
            "the model %s was trained beside other models of the package than this version's: "
            "its confidence may be off, until it is trained again",
            folder.path,
        )
    return load_model(shipped, system).scores


@cache
def _encoder(folder: ModelFolder) -> Encoder:
    """Return what the systems of a model share."""
    about = json.loads((folder.path / ABOUT).read_text("utf-8"))
    return stored.encoder(_read(folder, about["arrays"], SHARED))


def _read(folder: ModelFolder, checksums: Mapping[str, str], part: str) -> Arrays:
    """Map the arrays of a system, or those that all share; a shipped model is taken as it is.

    (A test compares its checksums, and reading 40 MB first would take longer than most runs.)
    """
    arrays = {}
    for name, expected in checksums.items():
        if name.startswith(f"{part}."):
            array = np.load(folder.path / f"{name}.npy", mmap_mode="r")
            if folder.path != SHIPPED and checksum(array) != expected:
                raise ValueError(f"{name}.npy is not as it was written")
            arrays[name.partition(".")[2]] = array
    return arrays


def _write(models: Sequence[Model], folder: Path, about: Mapping[str, Any]) -> None:
    """Write one array a file, so that each can be mapped into memory."""
    shared = stored.encoder_arrays(stored.own(models[0]).encoder)
    arrays = {f"{SHARED}.{name}": array for name, array in shared.items()}
    for model in models:
        its_own = stored.model_arrays(model)
        arrays |= {f"{model.system}.{name}": array for name, array in its_own.items()}
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
        sync(folder / f"{name}.npy")
    text = {
        "kind": KIND,
        "form": FORM,
        "systems": {model.system: _values(model) for model in models},
        "about": dict(about),
        "arrays": {name: checksum(array) for name, array in arrays.items()},
    }
    (folder / ABOUT).write_text(json.dumps(text, indent=1) + "\n", "utf-8")
    sync(folder / ABOUT)
    folder.chmod(0o755)


def _values(model: Model) -> dict[str, Any]:
    values = stored.model_values(model)
    return values | {"beside": shipped_models().sha256} if values["weight"] is not None else values


def checksum(array: npt.NDArray[Any]) -> str:
    """Return the SHA-256 of an array: of its type and shape, and of what stands in it."""
    digest = sha256(f"{array.dtype.str} {array.shape}".encode())
    digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _damaged(path: Path, reason: str) -> SettingsError:
    return SettingsError(
        f"The model {path} is damaged: {reason}.",
        "Copy it again from where it was made, or train it again: tender-pipeline train.",
    )
