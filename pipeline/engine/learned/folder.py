"""Keeps a model as a folder of arrays that are memory-mapped, and refuses one that is not whole."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pipeline.answers import SYSTEMS, System
from pipeline.engine.learned.calibrate import Calibration
from pipeline.engine.learned.memory import Memory, unit
from pipeline.engine.learned.model import Model
from pipeline.engine.learned.nibbles import pack, unpack
from pipeline.engine.learned.repeats import Repeats
from pipeline.engine.learned.vocabulary import Vocabulary
from pipeline.errors import OutputError, SettingsError
from pipeline.placing import sync, translated

__all__ = ["ModelFolder", "check_free", "is_model", "load_model", "model_folder", "opened", "save"]

FORM = 1
"""Raised when the arrays, or the way the features are computed, change."""

KIND = "tender-pipeline model"
ABOUT = "model.json"

Arrays = Mapping[str, npt.NDArray[Any]]

DAMAGE = (OSError, ValueError, EOFError, LookupError, TypeError, AttributeError)
"""What reading raises where a file is missing or torn, or was not written by us."""


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A model on disk.

    Attributes:
        path: its folder.
        system: whose codes it gives.
        sha256: of what the folder says of itself, the checksums of its arrays included.
    """

    path: Path
    system: System
    sha256: str


def save(model: Model, folder: Path, about: Mapping[str, Any], overwrite: bool = False) -> None:
    """Write a model beside its place and move it there at once; an older model is replaced.

    Args:
        model: what to keep.
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
            _write(model, draft, about)
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
    if about.get("system") not in SYSTEMS:
        raise _damaged(path, f"there is no system {about.get('system')!r}")
    return ModelFolder(path, about["system"], sha256(text).hexdigest())


def opened(folders: Sequence[str], systems: Sequence[System]) -> tuple[ModelFolder, ...]:
    """Return the models in some folders, after having loaded each once to see that it is whole.

    Args:
        folders: at most one a system.
        systems: those that are asked for.

    Raises:
        SettingsError: one is no model, damaged, or not of a system that is asked for.
    """
    models: dict[System, ModelFolder] = {}
    for folder in folders:
        model = model_folder(Path(folder))
        if model.system in models:
            raise SettingsError(
                f"{models[model.system].path} and {folder} are both models of {model.system}.",
                "Give one model a system: --model DIR.",
            )
        if model.system not in systems:
            raise SettingsError(
                f"{folder} is a model of {model.system}, which is not asked for.",
                f"Ask for it (--systems {model.system}), or leave the model out.",
            )
        load_model(model)
        models[model.system] = model
    return tuple(models.values())


def load_model(folder: ModelFolder) -> Model:
    """Map a model into memory; only its head and memory are unpacked.

    Raises:
        SettingsError: it is damaged, or was replaced since it was opened.
    """
    path = folder.path
    if model_folder(path) != folder:
        raise SettingsError(f"The model {path} was replaced meanwhile.", "Run the command again.")
    try:
        about = json.loads((path / ABOUT).read_text("utf-8"))
        arrays = {name: np.load(path / f"{name}.npy", mmap_mode="r") for name in about["arrays"]}
        for name, checksum in about["arrays"].items():
            if _checksum(arrays[name]) != checksum:
                raise ValueError(f"{name}.npy is not as it was written")
        return _model(about, arrays)
    except DAMAGE as error:
        raise _damaged(path, str(error)) from error


def _model(about: Mapping[str, Any], arrays: Arrays) -> Model:
    width = int(about["width"])
    memory = unpack(arrays["memory"], arrays["memory_scales"], width)
    directions = arrays["directions"].astype(np.float32)
    return Model(
        about["system"],
        arrays["codes"].astype("U8"),
        np.asarray(arrays["exampled"]),
        bool(about["only_history"]),
        Vocabulary(arrays["features"], arrays["rarity"]),
        arrays["weights"],
        arrays["scales"],
        directions * arrays["direction_scales"].astype(np.float32)[:, None],
        np.asarray(arrays["prior"]),
        Memory(unit(memory), arrays["memory_labels"].astype(np.intp), arrays["memory_texts"]),
        Repeats(
            arrays["repeat_hashes"],
            arrays["repeat_labels"],
            arrays["repeat_usual"],
            arrays["repeat_seen"],
            float(about["trust"]),
        ),
        Calibration(np.array(about["calibration"], np.float64)),
        float(about["unseen"]),
    )


def _write(model: Model, folder: Path, about: Mapping[str, Any]) -> None:
    """Write one array a file, so that each can be mapped into memory."""
    if model.calibration is None:
        raise ValueError("a model is calibrated before it is kept")
    arrays = _arrays(model)
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
        sync(folder / f"{name}.npy")
    text = {
        "kind": KIND,
        "form": FORM,
        "system": model.system,
        "only_history": model.only_history,
        "width": model.directions.shape[1],
        "trust": model.repeats.trust,
        "calibration": model.calibration.weights.tolist(),
        "unseen": model.unseen,
        "about": dict(about),
        "arrays": {name: _checksum(array) for name, array in arrays.items()},
    }
    (folder / ABOUT).write_text(json.dumps(text, indent=1) + "\n", "utf-8")
    sync(folder / ABOUT)
    folder.chmod(0o755)


def _arrays(model: Model) -> Arrays:
    largest = np.abs(model.directions).max(axis=1, initial=0)
    direction_scales = (largest / 127 + 1e-9).astype(np.float32)
    memory, memory_scales = pack(model.memory.vectors)
    levels = np.rint(model.directions / direction_scales[:, None])
    return {
        "codes": model.codes.astype("S8"),
        "exampled": model.exampled,
        "features": model.vocabulary.features.astype(np.uint32),
        "rarity": model.vocabulary.rarity.astype(np.float16),
        "weights": model.packed,
        "scales": model.scales,
        "directions": levels.astype(np.int8),
        "direction_scales": direction_scales,
        "prior": model.prior.astype(np.float32),
        "memory": memory,
        "memory_scales": memory_scales,
        "memory_labels": model.memory.labels.astype(np.uint32),
        "memory_texts": model.memory.texts.astype(np.float32),
        "repeat_hashes": model.repeats.hashes.astype(np.uint64),
        "repeat_labels": model.repeats.labels.astype(np.uint32),
        "repeat_usual": model.repeats.usual.astype(np.uint32),
        "repeat_seen": model.repeats.seen.astype(np.uint32),
    }


def _checksum(array: npt.NDArray[Any]) -> str:
    digest = sha256(f"{array.dtype.str} {array.shape}".encode())
    digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _damaged(path: Path, reason: str) -> SettingsError:
    return SettingsError(
        f"The model {path} is damaged: {reason}.",
        "Copy it again from where it was made, or train it again: tender-pipeline train.",
    )
