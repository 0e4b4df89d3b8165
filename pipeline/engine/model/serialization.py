"""Converts models to arrays and back, and maps the arrays of files into memory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from pipeline.answers import System
from pipeline.codes import load
from pipeline.engine.model.acceptance import (
    LEAVES,
    LENGTHS,
    TRAITS,
    Acceptance,
    Evidence,
    Trees,
    Voice,
)
from pipeline.engine.model.calibration import Calibration
from pipeline.engine.model.candidates import (
    OF_EXAMPLES,
    OF_TITLES,
    InvertedIndex,
    Lister,
    WordIndex,
)
from pipeline.engine.model.encoder import CENTRES, Codebook, Encoder
from pipeline.engine.model.features import Vocabulary
from pipeline.engine.model.matrices import Floats, IntegerRows, Ints, rounded
from pipeline.engine.model.model import Model, Repeats
from pipeline.engine.model.scorer import Blend, Scorer, Scores, blend, places
from pipeline.engine.model.title_words import RARITY_STEP, STEMS, TitleWords, rarity_levels
from pipeline.engine.model.word_vectors import BYTES, COLUMNS, WordVectors
from pipeline.files.regular import open_regular


def mapped(path: Path) -> npt.NDArray[Any]:
    """Map an array into memory without reading its data.

    Raises:
        ValueError: the file is unreadable, or not a plain array.
    """
    try:
        with open_regular(path) as file:
            npy.read_magic(file)
            shape, fortran, kind = npy.read_array_header_1_0(file)
            if kind.hasobject:
                raise ValueError("objects cannot be mapped")
            order: Any = "F" if fortran else "C"
            # As a plain array: with a memmap, NumPy runs Python code for each slice and result.
            return np.asarray(np.memmap(file, kind, "r", file.tell(), shape, order))
    except OSError as error:
        raise ValueError(f"{path.name}: {error.strerror or error}") from error
    except Exception as error:  # a torn header makes NumPy raise errors of many kinds
        raise ValueError(f"{path.name} is no complete array") from error


def three_bytes(numbers: Ints) -> Ints:
    """Return whole numbers below 2**24 as bytes: numbers x 3, the lowest byte first."""
    packed: Ints = numbers.astype("<u4").view(np.uint8).reshape(-1, 4)[:, :3].copy()
    return packed


def from_three_bytes(packed: Ints) -> Ints:
    """Return the numbers that `three_bytes` packed, as uint32."""
    whole = np.zeros((len(packed), 4), np.uint8)
    whole[:, :3] = packed
    numbers: Ints = whole.view("<u4").ravel()
    return numbers


Arrays = Mapping[str, npt.NDArray[Any]]

Shapes = Mapping[str, tuple[str | int, ...]]

OF_ENCODER: Shapes = {
    "features": ("u1", "features", 3),
    "rarity": ("f2", "features"),
    "places": ("u1", "features", "parts"),
    "lengths": ("f2", "features"),
    "centres": ("f2", "parts", CENTRES, "columns"),
    "word_vectors": ("u1", "words with vectors", BYTES),
    "word_scales": ("f2", "words with vectors"),
}
"""The types and the sides of the arrays that all systems share; sides of one name are equal."""

OF_SYSTEM: Shapes = {
    "codes": ("S8", "codes"),
    "directions": ("i1", "codes", "width"),
    "direction_scales": ("f4", "codes"),
    "prior": ("f4", "codes"),
    "repeat_hashes": ("u8", "repeats"),
    "repeat_codes": ("S8", "repeats"),
    "repeat_usual": ("u4", "repeats"),
    "repeat_seen": ("u4", "repeats"),
    "title_vectors": ("i1", "codes", COLUMNS),
    "texts": ("f4", "codes"),
    "word_lengths": ("u1", "words"),
    "word_codes": ("u2 u4", "entries"),
    "word_values": ("u1", "entries", OF_EXAMPLES),
    "word_scales": ("f4", OF_EXAMPLES),
    "title_lengths": ("u1", "title words"),
    "title_codes": ("u2 u4", "title entries"),
    "title_values": ("u1", "title entries", OF_TITLES),
    "title_scales": ("f4", OF_TITLES),
    "tree_features": ("u1", "trees", LEAVES - 1),
    "tree_thresholds": ("f4", "trees", LEAVES - 1),
    "tree_excluded": ("u2", "trees", LEAVES - 1),
    "tree_leaves": ("i2", "trees", LEAVES),
    "rates": ("f2", "codes", len(LENGTHS)),
    "rare_in_titles": ("u1", STEMS),
    "rare_in_texts": ("u1", STEMS),
}
"""The same for the arrays of one system."""

MAY_BE_EMPTY = ("repeats", "words", "entries", "title words", "title entries")

LARGEST = 1e6
"""No real weight comes near this; sums of larger weights may not be finite."""

INDEX = ("lengths", "codes", "values", "scales")
TREES = ("features", "thresholds", "excluded", "leaves")


def check(arrays: Arrays, shapes: Shapes, sizes: dict[str, int]) -> None:
    """Check that no text can make arrays fail, whoever wrote them.

    A checksum says that an array is as it was written, and not that training wrote it.

    Args:
        arrays: the arrays by name.
        shapes: `OF_ENCODER` or `OF_SYSTEM`.
        sizes: the lengths of sides that are known; the others are added.

    Raises:
        ValueError: training would not write these arrays.
    """
    for name, array in arrays.items():
        kinds, *sides = shapes.get(name, ("",))
        fits = array.dtype.str[1:] in str(kinds).split() and array.ndim == len(sides)
        for side, length in zip(sides, array.shape, strict=False):
            known = side if isinstance(side, int) else sizes.setdefault(side, length)
            fits = fits and length == known and (length > 0 or side in MAY_BE_EMPTY)
        if not fits:
            raise ValueError(f"{name} has a type or a size that it cannot have")
        largest = float(np.abs(array).max(initial=0)) if array.dtype.kind == "f" else 0.0
        if not largest <= LARGEST:  # NaN is not, either
            raise ValueError(f"{name} holds a value that it cannot have")
    if "codes" in arrays:
        _check_codes(arrays, sizes)


def _check_codes(arrays: Arrays, sizes: dict[str, int]) -> None:
    codes = {*arrays["codes"].tolist()}
    if len(codes) != sizes["codes"] or not all(map(bytes.isalnum, codes)):
        raise ValueError("codes are not codes, each once")
    if not codes.issuperset(arrays["repeat_codes"].tolist()):
        raise ValueError("repeat_codes has a code that the model does not give")
    below = {"word_codes": len(codes), "title_codes": len(codes), "tree_features": TRAITS}
    for name, end in below.items():
        if name in arrays and arrays[name].max(initial=0) >= end:
            raise ValueError(f"{name} holds a value that it cannot have")
    for kind, lengths in ((kind, arrays.get(f"{kind}_lengths")) for kind in ("word", "title")):
        if lengths is not None and (
            len(lengths) > sizes["features"] or lengths.sum() != len(arrays[f"{kind}_codes"])
        ):
            raise ValueError(f"{kind}_lengths does not add up to the entries")


def own(model: Model) -> Scorer:
    """Return a model's own scorer, without the shipped model that it is blended with."""
    scores = model.scores.own if isinstance(model.scores, Blend) else model.scores
    if not isinstance(scores, Scorer):
        raise TypeError(f"a model is kept by its network, not by {type(scores).__name__}")
    return scores


def encoder_arrays(encoder: Encoder) -> Arrays:
    """Return the arrays of the encoder, which the systems of a model share."""
    words = encoder.word_vectors
    vectors = {} if words is None else {"word_vectors": words.levels, "word_scales": words.scales}
    return {
        **vectors,
        "features": three_bytes(encoder.vocabulary.features),
        "rarity": encoder.vocabulary.rarity.astype(np.float16),
        "places": encoder.weights.places,
        "lengths": encoder.weights.lengths,
        "centres": encoder.weights.centres.astype(np.float16),
    }


def encoder(arrays: Arrays) -> Encoder:
    """Return an encoder from its arrays; the large ones are not copied.

    Raises:
        ValueError: see `check`.
    """
    check(arrays, OF_ENCODER, {})
    centres = arrays["centres"].astype(np.float32)
    return Encoder(
        Vocabulary(from_three_bytes(arrays["features"]), arrays["rarity"]),
        Codebook(arrays["places"], arrays["lengths"], centres),
        WordVectors(arrays["word_vectors"], arrays["word_scales"])
        if "word_vectors" in arrays
        else None,
    )


def model_arrays(model: Model) -> Arrays:
    """Return the arrays that belong to one system."""
    scorer = own(model)
    arrays = {
        "codes": scorer.codes.astype("S8"),
        "directions": scorer.directions.levels.astype(np.int8),
        "direction_scales": scorer.directions.scales,
        "prior": scorer.prior.astype(np.float32),
        "repeat_hashes": model.repeats.hashes.astype(np.uint64),
        "repeat_codes": model.codes[model.repeats.labels].astype("S8"),
        "repeat_usual": model.repeats.usual.astype(np.uint32),
        "repeat_seen": model.repeats.seen.astype(np.uint32),
    }
    if scorer.title_vectors is not None:
        arrays["title_vectors"] = rounded(scorer.title_vectors).levels.astype(np.int8)
    if model.acceptance is not None:
        arrays |= _acceptance_arrays(model.acceptance)
    return arrays


def _acceptance_arrays(acceptance: Acceptance) -> Arrays:
    words, titles = acceptance.evidence.lister.words, acceptance.evidence.titles
    lists = {"word": words.examples, "title": words.titles}
    return {
        "texts": words.texts,
        **{
            f"{kind}_{name}": getattr(index, name)
            for kind, index in lists.items()
            for name in INDEX
        },
        **{f"tree_{name}": getattr(acceptance.trees, name) for name in TREES},
        "rates": acceptance.evidence.rates.astype(np.float16),
        "rare_in_titles": rarity_levels(titles.of_titles),
        "rare_in_texts": rarity_levels(titles.of_texts),
    }


def model_values(model: Model) -> dict[str, Any]:
    """Return the values of a model that are stored as JSON."""
    if model.calibration is None:
        raise ValueError("a model is calibrated before it is kept")
    blended = model.scores if isinstance(model.scores, Blend) else None
    judges = model.acceptance
    return {
        "only_history": model.only_history,
        "trust": model.repeats.trust,
        "calibration": model.calibration.weights.tolist(),
        "spread": model.calibration.spread,
        "unseen": model.unseen,
        "weight": None if blended is None else blended.weight,
        **({} if judges is None else {"odds": [judges.slope, judges.start]}),
    }


def scorer(arrays: Arrays, encoder: Encoder) -> Scorer:
    """Return the scorer of one system from its arrays; its head is unpacked.

    Raises:
        ValueError: see `check`.
    """
    parts, _, columns = encoder.weights.centres.shape
    known = {"features": len(encoder.vocabulary.features), "width": parts * columns}
    check(arrays, OF_SYSTEM, known)
    directions = IntegerRows(
        arrays["directions"].astype(np.float32), arrays["direction_scales"].astype(np.float32)
    )
    return Scorer(
        encoder,
        arrays["codes"].astype("U8"),
        directions,
        np.asarray(arrays["prior"]),
        _unit(arrays["title_vectors"]) if "title_vectors" in arrays else None,
    )


def _unit(levels: Ints) -> Floats:
    """Return rows of unit length; a row of zeros, of a code without a title, stays so."""
    rows = levels.astype(np.float32)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
    return rows


def model(
    system: System,
    arrays: Arrays,
    values: Mapping[str, Any],
    own: Scorer,
    beside: Model | None,
    voices: Mapping[System, Voice],
) -> Model:
    """Return a model from its arrays and values.

    Args:
        system: the system whose codes the model predicts.
        arrays: see `model_arrays`.
        values: see `model_values`.
        own: the model's own scorer; see `scorer`.
        beside: the shipped model, if the model is blended with it.
        voices: what the general model says of each system, if the best codes are judged by it.

    Raises:
        ValueError, OverflowError: what judges its best codes does not fit the shipped model, or
            training would not write a value.
    """
    scores: Scorer | Blend = own
    trust, spread, unseen = _numbers(values, "trust", "spread", "unseen")
    if beside is not None:
        scores = blend(own, beside.scores, *_numbers(values, "weight"))
    return Model(
        system,
        scores,
        _repeats(arrays, scores, trust),
        bool(values["only_history"]),
        Calibration(np.array(_listed(values, "calibration", 4)), spread),
        unseen,
        _acceptance(system, arrays, values, own, scores, voices) if voices else None,
    )


def _numbers(values: Mapping[str, Any], *names: str) -> list[float]:
    numbers = [float(values[name]) for name in names]
    for name, number in zip(names, numbers, strict=True):
        if not 0 <= number <= 1:  # NaN is not, either
            raise ValueError(f"{name} is no number from 0 to 1")
    return numbers


def _listed(values: Mapping[str, Any], name: str, count: int) -> list[float]:
    numbers = [float(number) for number in values[name]]
    if len(numbers) != count or not all(abs(number) <= LARGEST for number in numbers):
        raise ValueError(f"{name} is not {count} numbers up to {LARGEST:g}")
    return numbers


def _acceptance(
    system: System,
    arrays: Arrays,
    values: Mapping[str, Any],
    own: Scorer,
    scores: Scores,
    voices: Mapping[System, Voice],
) -> Acceptance:
    examples, titles = (
        InvertedIndex(*(np.asarray(arrays[f"{kind}_{name}"]) for name in INDEX))
        for kind in ("word", "title")
    )
    index = WordIndex(examples, titles, np.asarray(arrays["texts"]))
    lister = Lister.of(index, scores.codes, own.prior)
    rare = (RARITY_STEP * arrays[name] for name in ("rare_in_titles", "rare_in_texts"))
    trees = Trees(*(np.asarray(arrays[f"tree_{name}"]) for name in TREES))
    rates = arrays["rates"].astype(np.float32)
    evidence = Evidence.of(system, lister, TitleWords(load(system), *rare), voices, rates)
    return Acceptance(evidence, trees, *_listed(values, "odds", 2))


def _repeats(arrays: Arrays, scores: Scores, trust: float) -> Repeats:
    return Repeats(
        arrays["repeat_hashes"],
        places(scores.codes, arrays["repeat_codes"].astype("U8")),
        arrays["repeat_usual"],
        arrays["repeat_seen"],
        trust,
    )
