"""Maps the arrays of a model into memory and rejects a damaged or incomplete model."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from pipeline.answers import System
from pipeline.engine.model import stored
from pipeline.engine.model.acceptance import Voice
from pipeline.engine.model.array_file import mapped
from pipeline.engine.model.encoder import Encoder
from pipeline.engine.model.expected import Sizes, check_encoder, check_shapes, check_system
from pipeline.engine.model.folder import (
    SHARED,
    SHIPPED,
    About,
    ModelFolder,
    checksum,
    damaged,
    model_folder,
    read_about,
    shipped_model,
)
from pipeline.engine.model.model import Model
from pipeline.engine.model.scorer import Scorer
from pipeline.engine.model.stored import Arrays
from pipeline.errors import SettingsError
from pipeline.wording import option

__all__ = ["check_arrays", "general_voices", "load_model", "opened"]

log = logging.getLogger(__name__)


def opened(folders: Sequence[str], systems: Sequence[System]) -> dict[System, ModelFolder]:
    """Return the models in the given folders, after loading each once to check it.

    Args:
        folders: at most one per system.
        systems: the requested systems.

    Raises:
        SettingsError: a folder holds no model, a damaged one, two hold models of the same system,
            or a model is of no requested system.
    """
    models: dict[System, ModelFolder] = {}
    for name in folders:
        folder = model_folder(Path(name))
        asked = [system for system in folder.systems if system in systems]
        if not asked:
            raise SettingsError(
                f"{name} is a model of {', '.join(folder.systems)}, which is not asked for.",
                f"Ask for it ({option('systems', ','.join(folder.systems))}), or leave the "
                "model out.",
            )
        for system in asked:
            if system in models:
                raise SettingsError(
                    f"{models[system].path} and {name} are both models of {system}.",
                    f"Give at most one model for each system: {option('models', 'DIR')}.",
                )
            load_model(folder, system)
            models[system] = folder
    return models


@cache
def load_model(folder: ModelFolder, system: System) -> Model:
    """Map one system of a model into memory, once per process; unpack its head.

    Raises:
        SettingsError: the model is damaged, or was replaced since it was opened.
    """
    about = read_about(folder.path)
    if about.sha256 != folder.sha256:
        raise SettingsError(
            f"The model {folder.path} was replaced meanwhile.", "Run the command again."
        )
    values = about.values[system]
    arrays, own = _scorer(folder, system)
    beside = _beside(folder, about, system)
    try:
        voices = _voices(folder, about, system)
        return stored.model(system, arrays, values, own, beside, voices)
    except ValueError as error:
        raise damaged(folder.path, str(error)) from error


@cache
def _scorer(folder: ModelFolder, system: System) -> tuple[Arrays, Scorer]:
    """Return the arrays and the scorer of one system; all that ask the general one share it."""
    try:
        encoder = _encoder(folder)
        arrays = _own(folder, read_about(folder.path), system, encoder)
    except ValueError as error:
        raise damaged(folder.path, str(error)) from error
    return arrays, stored.scorer(arrays, encoder)


def general_voices(folder: ModelFolder | None = None) -> dict[System, Voice]:
    """Return what a general model says of each system; without one, the package's."""
    general = folder or shipped_model()
    return {system: _voice(general, system) for system in general.systems}


@cache
def _voice(general: ModelFolder, system: System) -> Voice:
    return Voice(system, _scorer(general, system)[1])


def _voices(folder: ModelFolder, about: About, system: System) -> dict[System, Voice]:
    """Return the general voices, if the model judges its best codes by what they say."""
    if f"{system}.tree_leaves" not in about.checksums:
        return {}
    return general_voices(folder if about.values[system]["weight"] is None else None)


def check_arrays(folder: ModelFolder) -> None:
    """Compare every array of a model with its checksum.

    Raises:
        SettingsError: one is damaged or missing.
    """
    for name, expected in read_about(folder.path).checksums.items():
        try:
            found = checksum(mapped(folder.path / f"{name}.npy"))
        except ValueError as error:
            raise damaged(folder.path, str(error)) from error
        if found != expected:
            raise damaged(folder.path, f"{name}.npy is not as it was written")


def _beside(folder: ModelFolder, about: About, system: System) -> Model | None:
    """Return the shipped model that the model is blended with, if it is."""
    if about.values[system]["weight"] is None:
        return None
    shipped = shipped_model()
    if about.values[system].get("beside") != shipped.sha256:
        log.warning(
            "the model %s was trained beside another model of the package than this version's: "
            "its confidence may be off, until it is trained again",
            folder.path,
        )
    return load_model(shipped, system)


@cache
def _encoder(folder: ModelFolder) -> Encoder:
    """Return the encoder that all systems of a model share."""
    sizes: Sizes = {}
    arrays = _read(folder, read_about(folder.path), SHARED, sizes)
    if not _is_shipped(folder):
        check_encoder(arrays, sizes)
    return stored.encoder(arrays)


def _own(folder: ModelFolder, about: About, system: System, encoder: Encoder) -> Arrays:
    """Return the arrays that belong to one system."""
    width, features = encoder.weights.width, len(encoder.vocabulary.features)
    sizes = {"width": width, "features": features}
    arrays = _read(folder, about, system, sizes)
    if not _is_shipped(folder):
        check_system(system, arrays, sizes)
    return arrays


def _read(folder: ModelFolder, about: About, part: str, sizes: Sizes) -> Arrays:
    """Map the arrays of a system, or the shared ones, and compare them with their checksums.

    The checksums and the values of the shipped models are not checked here: tests do that, and
    reading 60 MB first would take longer than most runs.
    """
    arrays = {
        name.partition(".")[2]: mapped(folder.path / f"{name}.npy")
        for name in about.checksums
        if name.startswith(f"{part}.")
    }
    check_shapes(arrays, part, sizes)
    for name, array in arrays.items():
        if not _is_shipped(folder) and checksum(array) != about.checksums[f"{part}.{name}"]:
            raise ValueError(f"{part}.{name}.npy is not as it was written")
    return arrays


def _is_shipped(folder: ModelFolder) -> bool:
    return folder.path == SHIPPED
