from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pipeline.engine.model import load_model, model_folder, save, shipped_model
from pipeline.engine.model.encoder import BYTES, COLUMNS, WordVectors, encode_batch
from pipeline.engine.model.matrices import SparseRows
from pipeline.engine.model.model import Model
from pipeline.engine.model.serialization import encoder, encoder_arrays, model_arrays, scorer
from pipeline.errors import SettingsError

WORDS = 40

LEVELS = np.random.default_rng(0).integers(-7, 8, (WORDS, COLUMNS))
SCALES = np.linspace(0.01, 0.2, WORDS).astype(np.float16)

TEXTS = ("Snow clearing and gritting", "Streusalz für den Winterdienst", "1234 5678", "Laptops")


def vectors() -> WordVectors:
    packed = (LEVELS + 8).astype(np.uint8).reshape(WORDS, BYTES, 2)
    return WordVectors(packed[:, :, 0] * 16 + packed[:, :, 1], SCALES)


def rows(*texts: dict[int, float]) -> SparseRows:
    """Return a row for each text, from the weight of each of its features."""
    return SparseRows(
        np.array([weight for text in texts for weight in text.values()], np.float32),
        np.array([feature for text in texts for feature in text], np.intp),
        np.cumsum([0, *map(len, texts)]),
    )


def test_a_text_is_the_weighted_sum_of_its_words_scaled_to_unit_length() -> None:
    found = vectors().of_texts(rows({3: 2.0, 39: 0.5}))
    whole = LEVELS * SCALES.astype(np.float64)[:, None]
    wanted = 2 * whole[3] + 0.5 * whole[39]
    assert found[0] == pytest.approx(wanted / np.linalg.norm(wanted), abs=1e-4)


def test_features_that_are_no_words_are_left_out() -> None:
    pair = {WORDS: 9.0, 5 * WORDS: 1.0}
    with_pairs, without, only_pairs, nothing = vectors().of_texts(
        rows({7: 1.0, **pair}, {7: 1.0}, pair, {})
    )
    assert with_pairs.tolist() == without.tolist()
    assert not only_pairs.any()
    assert not nothing.any()


def test_an_encoder_keeps_its_word_vectors() -> None:
    without = load_model(shipped_model(), "cpv").own.encoder
    kept = encoder(encoder_arrays(replace(without, word_vectors=vectors()))).word_vectors
    assert kept is not None
    assert kept.levels.tolist() == vectors().levels.tolist()
    assert encoder(encoder_arrays(replace(without, word_vectors=None))).word_vectors is None


def evidence_of(model: Model) -> list[list[list[float]]]:
    batch = encode_batch(TEXTS)
    assert model.acceptance is not None
    _, traits = model.acceptance.evidence.traits(
        model.shares(batch)[0], batch, model.own_words(batch)
    )
    near: list[list[list[float]]] = traits[:, :, -5:-3].tolist()
    return near


def test_a_title_that_means_what_the_text_does_is_near() -> None:
    near = np.array(evidence_of(load_model(shipped_model(), "cpv")))
    nearest = near[:, :, 0].max(axis=1)
    assert (nearest[[0, 1, 3]] > 0.5).all(), "snow, salt, laptops"
    assert nearest[2] == 0, "a number means nothing"
    assert near[:, :, 1] == pytest.approx(near[:, :, 0] - nearest[:, None], abs=1e-6)


def test_a_system_without_vectors_of_titles_knows_nothing_of_it() -> None:
    scorer = load_model(shipped_model(), "naics").own
    places = np.zeros((len(TEXTS), 3), np.intp)
    assert scorer.nearness(encode_batch(TEXTS), places).any()
    without = replace(scorer, title_vectors=None)
    assert not without.nearness(encode_batch(TEXTS), places).any()


def test_a_code_without_a_title_is_near_no_text() -> None:
    cpv = load_model(shipped_model(), "cpv")
    arrays = dict(model_arrays(cpv))
    arrays["title_vectors"][:2] = 0
    arrays["title_vectors"][1, 5] = 127
    found = scorer("cpv", arrays, cpv.own.encoder).title_vectors
    assert found is not None
    assert not found[0].any()
    assert np.linalg.norm(found[1:], axis=1) == pytest.approx(1)


@pytest.mark.parametrize(
    "name", ["encoder.word_vectors", "encoder.word_scales", "cpv.title_vectors"]
)
def test_vectors_of_another_width_are_refused(tmp_path: Path, name: str) -> None:
    save([load_model(shipped_model(), "cpv")], tmp_path / "model", {})
    path = tmp_path / "model" / f"{name}.npy"
    np.save(path, np.load(path)[..., :-1])
    with pytest.raises(SettingsError, match="is damaged"):
        load_model(model_folder(tmp_path / "model"), "cpv")
