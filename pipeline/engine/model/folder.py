"""The metadata of a model folder, and the checks by which a bad model crashes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from pipeline.answers import SYSTEMS, System
from pipeline.engine.model.acceptance import QUESTIONS, TRAITS
from pipeline.engine.model.candidates import OF_EXAMPLES, OF_TITLES
from pipeline.engine.model.encoder import CENTRES
from pipeline.engine.model.features import BITS, BLOCKS
from pipeline.engine.model.serialization import from_three_bytes
from pipeline.engine.model.title_words import STEMS
from pipeline.engine.model.word_vectors import BYTES, COLUMNS
from pipeline.errors import SettingsError
from pipeline.files.regular import read_text
from pipeline.wording import TRAIN, option

__all__ = [
    "ABOUT",
    "FORM",
    "KIND",
    "SHARED",
    "SHIPPED",
    "About",
    "ModelFolder",
    "Sizes",
    "array_names",
    "check_encoder",
    "check_shapes",
    "check_system",
    "check_values",
    "checksum",
    "damaged",
    "is_model",
    "model_folder",
    "read_about",
    "shipped_model",
]


_Array: TypeAlias = npt.NDArray[Any]
Sizes: TypeAlias = dict[str, int]
"""Array dimensions by name; arrays that share a dimension must agree on its length."""

ENCODER: Mapping[str, tuple[str, ...]] = {
    "features": ("u1", "features", "bytes of a feature"),
    "rarity": ("f2", "features"),
    "places": ("u1", "features", "parts"),
    "lengths": ("f2", "features"),
    "centres": ("f2", "parts", "typical parts", "columns"),
}
"""The type and the dimension names of each array that the systems share."""

WORD_VECTORS: Mapping[str, tuple[str, ...]] = {
    "word_vectors": ("u1", "words with vectors", "bytes of a vector"),
    "word_scales": ("f2", "words with vectors"),
}
"""The same for what words mean, which a model may lack."""

TITLE_VECTORS: Mapping[str, tuple[str, ...]] = {
    "title_vectors": ("i1", "codes", "columns of a vector"),
}
"""The same for what the titles of a system mean, which a model may lack."""

OWN: Mapping[str, tuple[str, ...]] = {
    "codes": ("S8", "codes"),
    "directions": ("i1", "codes", "width"),
    "direction_scales": ("f4", "codes"),
    "prior": ("f4", "codes"),
    "repeat_hashes": ("u8", "repeats"),
    "repeat_codes": ("S8", "repeats"),
    "repeat_usual": ("u4", "repeats"),
    "repeat_seen": ("u4", "repeats"),
}
"""The same for a system's own arrays."""

ACCEPTANCE: Mapping[str, tuple[str, ...]] = {
    "texts": ("f4", "codes"),
    "word_lengths": ("u1", "words and pairs"),
    "word_codes": ("u2 u4", "entries"),
    "word_values": ("u1", "entries", "measures of examples"),
    "word_scales": ("f4", "measures of examples"),
    "title_lengths": ("u1", "words"),
    "title_codes": ("u2 u4", "entries of titles"),
    "title_values": ("u1", "entries of titles", "measures of titles"),
    "title_scales": ("f4", "measures of titles"),
    "tree_features": ("u1", "trees", "questions"),
    "tree_thresholds": ("f4", "trees", "questions"),
    "tree_leaves": ("i2", "trees", "leaves"),
    "rare_in_titles": ("u1", "stems"),
    "rare_in_texts": ("u1", "stems"),
}
"""The same for what judges the best codes of a system."""

LONGEST = {
    "features": BLOCKS << BITS,
    "parts": 1_024,
    "typical parts": CENTRES,
    "columns": 1_024,
    "codes": 250_000,
    "repeats": 20_000_000,
    "words and pairs": BLOCKS << BITS,
    "words": BLOCKS << BITS,
    "words with vectors": BLOCKS << BITS,
    "entries": 50_000_000,
    "entries of titles": 50_000_000,
    "stems": STEMS,
}
EMPTY = {"repeats", "words and pairs", "words", "entries", "entries of titles"}
"""Dimensions that may have a length of 0."""

EXACTLY = {
    "typical parts": CENTRES,
    "measures of examples": OF_EXAMPLES,
    "measures of titles": OF_TITLES,
    "bytes of a feature": 3,
    "stems": STEMS,
    "questions": QUESTIONS,
    "leaves": 2**QUESTIONS,
    "bytes of a vector": BYTES,
    "columns of a vector": COLUMNS,
}
UNPACKED = 2**28
"""The most numbers that an unpacked array may hold: 1 GiB."""

WIDEST = 1_024
LARGEST = 1e6
"""No real weight comes near this; sums of larger weights may not be finite."""

SHARES = ("trust", "spread", "unseen")
CALIBRATION = 4
ODDS = 3


def array_names(systems: Sequence[str]) -> set[str]:
    """Return the allowed array names for a model of these systems."""
    names = (*OWN, *ACCEPTANCE, *TITLE_VECTORS)
    own = {f"{system}.{name}" for system in systems for name in names}
    return own | {f"encoder.{name}" for name in (*ENCODER, *WORD_VECTORS)}


def check_values(values: Any) -> None:
    """Check the entry of a system in a model's JSON.

    Raises:
        ValueError: training would not write this entry.
    """
    weight = values.get("weight", "none") if isinstance(values, dict) else "none"
    if weight == "none" or not isinstance(values.get("only_history"), bool):
        raise ValueError("its entry for a system is malformed")
    calibration = values.get("calibration")
    if not isinstance(calibration, list) or len(calibration) != CALIBRATION:
        raise ValueError(f"a calibration has {CALIBRATION} numbers")
    for number in calibration:
        _check_number("calibration", number, -LARGEST, LARGEST)
    if "odds" in values:
        if not isinstance(values["odds"], list) or len(values["odds"]) != ODDS:
            raise ValueError(f"the odds of codes being accepted have {ODDS} numbers")
        for number in values["odds"]:
            _check_number("odds", number, -LARGEST, LARGEST)
    for name in SHARES:
        _check_number(name, values.get(name), 0, 1)
    if values["weight"] is not None:
        _check_number("weight", values["weight"], 0, 1)


def check_shapes(arrays: Mapping[str, _Array], part: str, sizes: Sizes) -> None:
    """Check the types and shapes of the arrays of a part without reading their data.

    Args:
        arrays: the arrays by name.
        part: a system, or the encoder that all systems share.
        sizes: the dimensions already known; the others are added in place.

    Raises:
        ValueError: an array is missing, or has the wrong type or shape.
    """
    wanted = OWN if part in SYSTEMS else ENCODER
    for more in (ACCEPTANCE, TITLE_VECTORS) if part in SYSTEMS else (WORD_VECTORS,):
        if not more.keys().isdisjoint(arrays):
            wanted = {**wanted, **more}
    for name, (kinds, *sides) in wanted.items():
        if name not in arrays:
            raise ValueError(f"it has no array {part}.{name}")
        array = arrays[name]
        fits = array.dtype.str[1:] in kinds.split() and array.ndim == len(sides)
        if not fits or not all(map(_fits, sides, array.shape, [sizes] * len(sides))):
            raise ValueError(f"{part}.{name} has a type or a size that it cannot have")


def _fits(side: str, length: int, sizes: Sizes) -> bool:
    least = 0 if side in EMPTY else 1
    if length != EXACTLY.get(side, length):
        return False
    return least <= length <= LONGEST.get(side, WIDEST) and sizes.setdefault(side, length) == length


def check_encoder(arrays: Mapping[str, _Array], sizes: Sizes) -> None:
    """Check the values of the arrays that the systems share.

    Raises:
        ValueError: training would not write these values.
    """
    if sizes["parts"] * sizes["columns"] > WIDEST:
        raise ValueError("its vectors are too wide")
    features = from_three_bytes(arrays["features"])
    _check_ascending("encoder.features", features)
    _check("encoder.features", features, 0, (BLOCKS << BITS) - 1)
    _check("encoder.rarity", arrays["rarity"], 1e-3, LARGEST)
    _check("encoder.lengths", arrays["lengths"], 0, LARGEST)
    _check("encoder.centres", arrays["centres"], -16, 16)
    if "word_scales" in arrays:
        _check("encoder.word_scales", arrays["word_scales"], 0, LARGEST)


def check_system(system: str, arrays: Mapping[str, _Array], sizes: Sizes) -> None:
    """Check the values of a system's own arrays.

    Raises:
        ValueError: training would not write these values.
    """
    if sizes["codes"] * sizes["width"] > UNPACKED:
        raise ValueError(f"the model of {system} is too large")
    codes = arrays["codes"].astype("U8")
    if not np.char.isalnum(codes).all() or len({*codes.tolist()}) != len(codes):
        raise ValueError(f"{system}.codes are not codes, each once")
    if not {*arrays["repeat_codes"].tolist()} <= {*arrays["codes"].tolist()}:
        raise ValueError(f"{system}.repeat_codes has a code that the model does not give")
    _check_ascending(f"{system}.repeat_hashes", arrays["repeat_hashes"])
    if not (arrays["repeat_usual"] <= arrays["repeat_seen"]).all():
        raise ValueError(f"{system}.repeat_usual is more than repeat_seen")
    if "texts" in arrays:
        _check_lists(system, arrays, sizes)
    for name, (low, high) in _bounds(sizes).items():
        if name in arrays:
            _check(f"{system}.{name}", arrays[name], low, high)


def _check_lists(system: str, arrays: Mapping[str, _Array], sizes: Sizes) -> None:
    for kind in ("word", "title"):
        lengths = arrays[f"{kind}_lengths"]
        if len(lengths) > sizes["features"]:
            raise ValueError(f"{system}.{kind}_lengths has more words than the encoder")
        if int(lengths.sum(dtype=np.int64)) != len(arrays[f"{kind}_codes"]):
            raise ValueError(f"{system}.{kind}_lengths does not add up to the entries")


def _bounds(sizes: Sizes) -> dict[str, tuple[float, float]]:
    return {
        "direction_scales": (0, LARGEST),
        "prior": (-LARGEST, LARGEST),
        "repeat_usual": (1, 2**32 - 2),
        "repeat_seen": (1, 2**32 - 2),
        "texts": (0, 1e9),
        "word_codes": (0, sizes["codes"] - 1),
        "word_scales": (0, LARGEST),
        "title_codes": (0, sizes["codes"] - 1),
        "title_scales": (0, LARGEST),
        "tree_features": (0, TRAITS - 1),
        "tree_thresholds": (-LARGEST, LARGEST),
        "rare_in_titles": (0, LARGEST),
        "rare_in_texts": (0, LARGEST),
    }


def _check_number(name: str, number: Any, low: float, high: float) -> None:
    is_number = isinstance(number, int | float) and not isinstance(number, bool)
    if not (is_number and low <= number <= high):  # NaN is never in bounds
        raise ValueError(f"{name} is no number from {low:g} to {high:g}")


def _check(name: str, array: _Array, low: float, high: float) -> None:
    with np.errstate(all="ignore"):
        inside = not array.size or (float(array.min()) >= low and float(array.max()) <= high)
    if not inside:  # NaN is never in bounds
        raise ValueError(f"{name} holds a value that is not from {low:g} to {high:g}")


def _check_ascending(name: str, array: _Array) -> None:
    if not (array[1:] > array[:-1]).all():
        raise ValueError(f"{name} does not ascend")


FORM = 4
"""Format version, incremented when the arrays or the feature computation change."""

KIND = "tender-pipeline model"
ABOUT = "model.json"

ABOUT_BYTES = 64 * 2**20
"""Size limit of `ABOUT`, which lists the history's codes that were left out, maybe many."""

SHARED = "encoder"
"""Name prefix of the arrays that all systems of a model share."""

SHIPPED = Path(__file__).parent.parent / "shipped"
"""The model that comes with the package."""


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A model on disk, for one system or for several that share an encoder.

    Attributes:
        path: the folder of the model.
        systems: the systems whose codes it gives.
        sha256: hash of the metadata, which includes the checksums of the arrays.
        ok_from: for each system, the confidence from which its codes are ``ok``; a system is
            missing if the held-out rows show no such confidence, or an older version trained it.
    """

    path: Path
    systems: tuple[System, ...]
    sha256: str
    ok_from: Mapping[System, float] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class About:
    """The checked metadata of a model.

    Attributes:
        values: the JSON values of each system.
        checksums: the checksum of each array.
        sha256: hash of the whole metadata file.
        ok_from: see `ModelFolder`.
    """

    values: Mapping[System, Mapping[str, Any]]
    checksums: Mapping[str, str]
    sha256: str
    ok_from: Mapping[System, float]


def is_model(folder: Path) -> bool:
    """Return whether the metadata of a folder declares it a model."""
    try:
        return bool(_read_content(folder)[0].get("kind") == KIND)
    except (OSError, ValueError):
        return False


def model_folder(path: Path) -> ModelFolder:
    """Return the model in a folder, based on its metadata.

    Raises:
        SettingsError: it is not a model, is damaged, or needs another version of this tool.
    """
    about = read_about(path)
    return ModelFolder(path, tuple(about.values), about.sha256, about.ok_from)


def read_about(path: Path) -> About:
    """Read the metadata of a model folder.

    Raises:
        SettingsError: it is not a model, is damaged, or needs another version of this tool.
    """
    try:
        content, digest = _read_content(path)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise _no_model(path) from error
    except OSError as error:
        raise damaged(path, f"{ABOUT}: {error.strerror or error}") from error
    except ValueError as error:
        raise damaged(path, f"{ABOUT}: {error}") from error
    if content.get("kind") != KIND:
        raise _no_model(path)
    _check_form(path, content.get("form"))
    try:
        values, checksums = _checked(content)
        return About(values, checksums, digest, _ok_from(content.get("about"), values))
    except ValueError as error:
        raise damaged(path, str(error)) from error


def _read_content(path: Path) -> tuple[dict[str, Any], str]:
    """Return (the content of a model's JSON file, its SHA-256).

    Raises:
        OSError: the file cannot be read.
        ValueError: the file does not hold a JSON object.
    """
    text = read_text(path / ABOUT, ABOUT_BYTES)
    try:
        content = json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(content, dict):
        raise ValueError("it is no object")
    return content, sha256(text.encode()).hexdigest()


def _no_model(path: Path) -> SettingsError:
    return SettingsError(
        f"{path} {'is not a model' if path.exists() else 'does not exist'}.",
        f"Name the folder that {TRAIN} made of your own history: {option('models', 'DIR')}.",
    )


def _check_form(path: Path, form: Any) -> None:
    if not isinstance(form, int) or not 0 <= form < 1_000_000:
        raise damaged(path, "it has no form")
    if form != FORM:
        raise SettingsError(
            f"The model {path} has form {form}, and this version reads form {FORM}.",
            f"Train it again with this version ({TRAIN}), or use the other version.",
        )


def _checked(content: Mapping[str, Any]) -> tuple[dict[System, Any], dict[str, str]]:
    """Return (the values of each system, the checksums of the arrays).

    Raises:
        ValueError: training would not write these values.
    """
    systems, checksums = content.get("systems"), content.get("arrays")
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


def _ok_from(about: Any, systems: Iterable[System]) -> dict[System, float]:
    """Return the threshold of each system that has one, from the figures of the training."""
    found: dict[System, float] = {}
    for system in systems:
        try:
            ok = about.get(system, about)["held_back"]["ok"]
            shown, confidence = ok["right_at_least"] > 0, ok["confidence"]
        except (AttributeError, KeyError, TypeError):
            continue  # an older version wrote a threshold without evidence
        if shown and isinstance(confidence, float) and 0 <= confidence <= 1:
            found[system] = confidence
    return found


@cache
def shipped_model() -> ModelFolder:
    """Return the model that comes with the package and knows all systems."""
    return model_folder(SHIPPED)


def checksum(array: npt.NDArray[Any]) -> str:
    """Return the SHA-256 of an array's type, shape and values."""
    digest = sha256(f"{array.dtype.str} {array.shape}".encode())
    digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def damaged(path: Path, reason: str) -> SettingsError:
    """Return the error for a damaged model."""
    return SettingsError(
        f"The model {path} is damaged: {reason}.",
        f"Copy it again from where it was made, or train it again: {TRAIN}.",
    )
