"""Converts models to arrays and back, and maps the arrays of files into memory."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from pipeline.answers import System
from pipeline.codes import load
from pipeline.engine.model.acceptance import (
    Acceptance,
    Calibration,
    Evidence,
    Trees,
)
from pipeline.engine.model.candidates import (
    InvertedIndex,
    Lister,
    WordIndex,
)
from pipeline.engine.model.encoder import (
    Blend,
    Codebook,
    Encoder,
    Scorer,
    Scores,
    WordVectors,
    blend,
    places,
)
from pipeline.engine.model.features import Vocabulary
from pipeline.engine.model.matrices import Floats, IntegerRows, Ints, rounded
from pipeline.engine.model.model import Model, Repeats
from pipeline.engine.model.title_words import RARITY_STEP, TitleWords, rarity_levels
from pipeline.files.regular import open_regular


def mapped(path: Path) -> npt.NDArray[Any]:
    """Map an array into memory without reading its data.

    Raises:
        ValueError: the file is unreadable, or not a plain array.
        OSError: the process has too many open files, whatever the file is.
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
        if error.errno in (errno.EMFILE, errno.ENFILE):
            raise
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

INDEX = ("lengths", "codes", "values", "scales")
TREES = ("features", "thresholds", "excluded", "leaves")


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
    """Return an encoder from its arrays; the large ones are not copied."""
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
    scorer = model.own
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
        "weight": None if blended is None else blended.weight,
        **({} if judges is None else {"odds": [judges.slope, judges.start]}),
    }


def scorer(system: System, arrays: Arrays, encoder: Encoder) -> Scorer:
    """Return the scorer of one system from its arrays; its head is unpacked."""
    directions = IntegerRows(
        arrays["directions"].astype(np.float32), arrays["direction_scales"].astype(np.float32)
    )
    return Scorer(
        system,
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
    scorer: Scorer,
    beside: Scorer | None,
    scorers: Mapping[System, Scorer],
) -> Model:
    """Return a model from its arrays and values.

    Args:
        system: the system whose codes the model predicts.
        arrays: see `model_arrays`.
        values: see `model_values`.
        scorer: the model's own; see `scorer`.
        beside: that of the shipped model, if the model is blended with it.
        scorers: those of the general model, if the best codes are judged by what they say.

    Raises:
        ValueError: what judges its best codes does not fit the shipped model.
    """
    scores: Scorer | Blend = scorer
    if beside is not None:
        scores = blend(scorer, beside, float(values["weight"]))
    return Model(
        system,
        scores,
        _repeats(arrays, scores, float(values["trust"])),
        bool(values["only_history"]),
        Calibration(np.array(values["calibration"], float), float(values["spread"])),
        _acceptance(system, arrays, values, scorer, scores, scorers) if scorers else None,
    )


def _acceptance(
    system: System,
    arrays: Arrays,
    values: Mapping[str, Any],
    scorer: Scorer,
    scores: Scores,
    scorers: Mapping[System, Scorer],
) -> Acceptance:
    examples, titles = (
        InvertedIndex(*(np.asarray(arrays[f"{kind}_{name}"]) for name in INDEX))
        for kind in ("word", "title")
    )
    index = WordIndex(examples, titles, np.asarray(arrays["texts"]))
    lister = Lister.of(index, scores.codes, scorer.prior)
    rare = (RARITY_STEP * arrays[name] for name in ("rare_in_titles", "rare_in_texts"))
    trees = Trees(*(np.asarray(arrays[f"tree_{name}"]) for name in TREES))
    rates = arrays["rates"].astype(np.float32)
    evidence = Evidence.of(system, lister, TitleWords(load(system), *rare), scorers, rates)
    return Acceptance(evidence, trees, *values["odds"])


def _repeats(arrays: Arrays, scores: Scores, trust: float) -> Repeats:
    return Repeats(
        arrays["repeat_hashes"],
        places(scores.codes, arrays["repeat_codes"].astype("U8")),
        arrays["repeat_usual"],
        arrays["repeat_seen"],
        trust,
    )
