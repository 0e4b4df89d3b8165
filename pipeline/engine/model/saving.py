"""Saves models as a folder of arrays, atomically: the folder is complete or absent."""

from __future__ import annotations

import io
import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pipeline.engine.model import stored
from pipeline.engine.model.folder import (
    ABOUT,
    FORM,
    KIND,
    SHARED,
    checksum,
    is_model,
    shipped_model,
)
from pipeline.engine.model.model import Model
from pipeline.engine.model.scorer import Blend
from pipeline.errors import OutputError
from pipeline.files.atomic import sync, translated
from pipeline.wording import OVERWRITE, beside, option

__all__ = ["check_free", "save"]


def check_free(folder: Path, overwrite: bool) -> None:
    """Check, before any work is done, that a model may be written to a folder.

    Raises:
        OutputError: the path is a file, holds something else, or contains the current folder.
    """
    place = folder.resolve()
    if place == Path.cwd() or place in Path.cwd().parents:
        raise OutputError(
            f"{folder} is where you are.", f"Give a folder of its own: {option('output', 'DIR')}."
        )
    if place.exists() and not place.is_dir():
        raise OutputError(
            f"{folder} is a file.", f"Give a folder of its own: {option('output', 'DIR')}."
        )
    if place.exists() and any(place.iterdir()) and not (overwrite or is_model(place)):
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
    """Move a folder into place; if that fails, restore the previous one."""
    if place.exists():
        place.replace(old)
    try:
        draft.replace(place)
    except OSError:
        if old.exists():
            old.replace(place)
        raise


def _write(models: Sequence[Model], folder: Path, about: Mapping[str, Any]) -> None:
    """Write each array to its own file, so that it can be mapped into memory."""
    shared = stored.encoder_arrays(stored.own(models[0]).encoder)
    arrays = {f"{SHARED}.{name}": array for name, array in shared.items()}
    for model in models:
        its_own = stored.model_arrays(model)
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
    folder.chmod(0o755)


def _keep(array: npt.NDArray[Any], path: Path) -> None:
    """Write an array via a buffer: on a full disk, numpy itself reports only the bytes written."""
    whole = io.BytesIO()
    np.save(whole, array)
    path.write_bytes(whole.getvalue())
    sync(path)


def _values(model: Model) -> dict[str, Any]:
    values = stored.model_values(model)
    if not isinstance(model.scores, Blend):
        return values
    return values | {"beside": shipped_model().sha256}
