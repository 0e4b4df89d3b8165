"""Maps the arrays of a model into memory, rejects a damaged one, and saves models atomically."""

from __future__ import annotations

import io
import json
import logging
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pipeline.answers import System
from pipeline.engine.model import serialization
from pipeline.engine.model.encoder import Blend, Encoder, Scorer
from pipeline.engine.model.folder import (
    ABOUT,
    FORM,
    KIND,
    MALFORMED,
    SHARED,
    SHIPPED,
    ModelFolder,
    checksum,
    damaged,
    is_model,
    model_folder,
    shipped_model,
)
from pipeline.engine.model.model import Model
from pipeline.engine.model.serialization import Arrays, mapped
from pipeline.errors import OutputError, SettingsError
from pipeline.files.atomic import sync, translated
from pipeline.wording import OVERWRITE, beside, option


def check_free(folder: Path, overwrite: bool) -> None:
    """Check, before any work is done, that a model may be written to a folder.

    Raises:
        OutputError: the path is a file, holds something else, or contains the current folder.
    """
    target = folder.resolve()
    if target == Path.cwd() or target in Path.cwd().parents:
        raise OutputError(
            f"{folder} is where you are.", f"Give a folder of its own: {option('output', 'DIR')}."
        )
    if target.exists() and not target.is_dir():
        raise OutputError(
            f"{folder} is a file.", f"Give a folder of its own: {option('output', 'DIR')}."
        )
    if target.exists() and any(target.iterdir()) and not (overwrite or is_model(target)):
        raise OutputError(
            f"{folder} is not a model of this tool.",
            f"Write elsewhere{beside('output', 'DIR')}, or replace it and all that is in it with "
            f"{OVERWRITE}.",
        )


def save(
    models: Sequence[Model], folder: Path, about: Mapping[str, Any], overwrite: bool = False
) -> None:
    """Write models to a temporary folder and move it into place, replacing older models.

    Args:
        models: the models to save: one per system, all with the same encoder.
        folder: the folder to write.
        about: JSON-serialisable details to store with the models, such as how they were trained.
        overwrite: whether to replace a folder that is not a model.

    Raises:
        OutputError: the folder must not be replaced or cannot be written.
    """
    check_free(folder, overwrite)
    target = folder.resolve()
    with translated(folder):
        target.parent.mkdir(parents=True, exist_ok=True)
        rubbish = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        with translated(folder):
            draft = rubbish / "new"
            draft.mkdir()
            _write(models, draft, about)
            _put(draft, target, rubbish / "old")
            sync(target.parent)
    finally:
        shutil.rmtree(rubbish, ignore_errors=True)


def _put(draft: Path, target: Path, old: Path) -> None:
    """Move a folder into place; if that fails, restore the previous one."""
    if target.exists():
        target.replace(old)
    try:
        draft.replace(target)
    except OSError:
        if old.exists():
            old.replace(target)
        raise


def _write(models: Sequence[Model], folder: Path, about: Mapping[str, Any]) -> None:
    """Write each array to its own file, so that it can be mapped into memory."""
    shared = serialization.encoder_arrays(models[0].own.encoder)
    arrays = {f"{SHARED}.{name}": array for name, array in shared.items()}
    for model in models:
        its_own = serialization.model_arrays(model)
        arrays |= {f"{model.system}.{name}": array for name, array in its_own.items()}
    for name, array in arrays.items():
        _keep(array, folder / f"{name}.npy")
    text = {
        "kind": KIND,
        "form": FORM,
        "systems": {model.system: _values(model) for model in models},
        "about": dict(about),
        "arrays": {name: checksum(array) for name, array in arrays.items()},
    }
    (folder / ABOUT).write_text(json.dumps(text, indent=1) + "\n", "utf-8")
    sync(folder / ABOUT)
    sync(folder)


def _keep(array: npt.NDArray[Any], path: Path) -> None:
    """Write an array via a buffer: on a full disk, numpy itself reports only the bytes written."""
    whole = io.BytesIO()
    np.save(whole, array)
    path.write_bytes(whole.getvalue())
    sync(path)


def _values(model: Model) -> dict[str, Any]:
    values = serialization.model_values(model)
    if not isinstance(model.scores, Blend):
        return values
    return values | {"beside": shipped_model().sha256}


log = logging.getLogger(__name__)


def open_models(
    models: Any, systems: Sequence[System]
) -> tuple[dict[System, ModelFolder], dict[str, str]]:
    """Return learned models, after loading each once to check it, and the SHA-256 of each folder.

    Args:
        models: a folder, or several; at most one per system.
        systems: the requested systems.

    Raises:
        SettingsError: these are not paths, a folder holds no model, a damaged one, two hold models
            of the same system, or a model is of no requested system.
    """
    try:
        paths = [models] if isinstance(models, str | PathLike) else list(models)
        names = [str(Path(path)) for path in paths]
    except TypeError as error:
        raise SettingsError(
            f"models is {models!r}.", "models must be the folder of a learned model, or a list."
        ) from error
    folders: dict[System, ModelFolder] = {}
    for name in names:
        folder = model_folder(Path(name))
        asked = [system for system in folder.systems if system in systems]
        if not asked:
            raise SettingsError(
                f"{name} is a model of {', '.join(folder.systems)}, which is not asked for.",
                f"Ask for it ({option('systems', ','.join(folder.systems))}), or leave the "
                "model out.",
            )
        for system in asked:
            if system in folders:
                raise SettingsError(
                    f"{folders[system].path} and {name} are both models of {system}.",
                    f"Give at most one model for each system: {option('models', 'DIR')}.",
                )
            load_model(folder, system)
            folders[system] = folder
    return folders, {str(folder.path): folder.sha256 for folder in folders.values()}


@cache
def load_model(folder: ModelFolder, system: System) -> Model:
    """Map one system of a model into memory, once per process; unpack its head.

    Raises:
        SettingsError: the model is damaged, was replaced since it was opened, or needs more open
            files than the process may have.
    """
    now = model_folder(folder.path)
    if now.sha256 != folder.sha256:
        raise SettingsError(
            f"The model {folder.path} was replaced meanwhile.", "Run the command again."
        )
    try:
        arrays, scorer = _scorer(folder, system)
        beside, scorers = _beside(folder, system), _general_scorers(folder, system)
        return serialization.model(system, arrays, folder.values[system], scorer, beside, scorers)
    except MALFORMED as error:
        raise damaged(folder.path, error) from error
    except OSError as error:
        raise SettingsError(
            f"The model {folder.path} cannot be read: {error.strerror}.",
            "Let the process open more files: ulimit -n 1024.",
        ) from error


@cache
def _scorer(folder: ModelFolder, system: System) -> tuple[Arrays, Scorer]:
    """Return the arrays and the scorer of one system; all that ask the general one share it."""
    arrays = _read(folder, system)
    return arrays, serialization.scorer(system, arrays, _encoder(folder))


def _general_scorers(folder: ModelFolder, system: System) -> dict[System, Scorer]:
    """Return those of the general model, if the model judges its best codes by what they say."""
    if f"{system}.tree_leaves" not in folder.checksums:
        return {}
    general = folder if folder.values[system]["weight"] is None else shipped_model()
    return {name: _scorer(general, name)[1] for name in general.systems}


def check_arrays(folder: ModelFolder) -> None:
    """Compare every array of a model with its checksum.

    Raises:
        SettingsError: one is damaged or missing.
    """
    try:
        for part in (SHARED, *folder.systems):
            _read(folder, part, checked=True)
    except ValueError as error:
        raise damaged(folder.path, error) from error


def _beside(folder: ModelFolder, system: System) -> Scorer | None:
    """Return the scorer of the shipped model, if the model is blended with it."""
    if folder.values[system]["weight"] is None:
        return None
    shipped = shipped_model()
    if folder.values[system].get("beside") != shipped.sha256:
        log.warning(
            "the model %s was trained beside another model of the package than this version's: "
            "its confidence may be off, until it is trained again",
            folder.path,
        )
    return load_model(shipped, system).own  # which names the right folder if it is damaged


@cache
def _encoder(folder: ModelFolder) -> Encoder:
    """Return the encoder that all systems of a model share."""
    return serialization.encoder(_read(folder, SHARED))


def _read(folder: ModelFolder, part: str, checked: bool = False) -> Arrays:
    """Map the arrays of a system, or the shared ones, and compare them with their checksums.

    Those of the shipped models are not compared unless asked to be: tests do that, and reading
    60 MB first would take longer than most runs.

    Raises:
        ValueError: an array is unreadable, or not as it was written.
    """
    arrays = {}
    for name, written in folder.checksums.items():
        if name.startswith(f"{part}."):
            array = arrays[name.partition(".")[2]] = mapped(folder.path / f"{name}.npy")
            if (checked or folder.path != SHIPPED) and checksum(array) != written:
                raise ValueError(f"{name}.npy is not as it was written")
    return arrays
