"""The word index and the reranker: what they measure, learn and promise."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from pipeline.engine.model import load_model, model_folder, save
from pipeline.engine.model.arrays import Bools, Floats
from pipeline.engine.model.encoder import Encoded
from pipeline.engine.model.features import count
from pipeline.engine.model.model import Model
from pipeline.engine.model.reranker import TRAITS, Judge, Reranker
from pipeline.engine.model.stored import own
from pipeline.engine.training import Examples, Task, Trained, history_recipe
from pipeline.engine.training.reranking import fit, folds
from pipeline.engine.training.train import train
from pipeline.engine.training.validation import tried
from pipeline.engine.training.word_index import build
from pipeline.errors import SettingsError
from tests.engine.model.spoiling import about, element, say, without
from tests.engine.model.training_data import history, ignored, taught

CODES = ("03111000", "45233140", "90910000")
TITLES = ("Wheat and barley seeds", "Road paving", "Office cleaning")


@cache
def reranked() -> Trained:
    """Return a model whose reranker learned from held-out texts of three sources."""
    some = history(200, seed=1, noise=0.2)
    task = Task(
        "cpv",
        Examples.of(*history(300)),
        Examples.of(*some),
        Examples.of(TITLES, CODES),
        np.ones(500, np.float32),
        np.ones(3, np.float32),
        np.ones(3, np.float32),
        learns_held_back=False,
        recognises=False,
        sources=np.arange(200) % 3,
    )
    (trained,) = train([task], history_recipe(300), ignored)
    return trained


def reranker(model: Model) -> Reranker:
    found = own(model).reranker
    assert found is not None
    return found


def encoded(*texts: str) -> Encoded:
    return own(reranked().model).encoder.encode(count(texts))


def test_a_text_is_closest_to_the_code_with_its_words() -> None:
    words = reranker(reranked().model).lister.words
    found = words.measured(
        encoded("barley wheat", "paving asphalt").features, np.tile([0, 1, 2], (2, 1))
    )
    assert found[0].argmax(axis=0).tolist() == [0, 0, 0, 0]
    assert found[1, :, 0].argmax() == found[1, :, 1].argmax() == 1


def test_half_of_a_title_measures_less_than_the_whole_title() -> None:
    words = reranker(reranked().model).lister.words
    half, whole = words.measured(encoded("road", "road paving").features, np.array([[1], [1]]))[
        :, 0, 2
    ]
    assert 0 < half < whole <= 1.02


def test_a_word_of_too_many_codes_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.engine.training.word_index.MOST_CODES", 2)
    scorer = own(reranked().model)
    texts = ["wheat district", "road district", "office district"]
    words = build(
        scorer.encoder.vocabulary, scorer.codes, Examples.of(texts, CODES), Examples.of([], [])
    )
    seen = words.measured(encoded("district", "wheat").features, np.tile([0, 1, 2], (2, 1)))
    assert not seen[0, :, 1].any()
    assert seen[1, :, 1].argmax() == 0


@pytest.mark.parametrize("text", ["", "жюфц", "!!"])
def test_a_text_without_known_words_is_listed_too(text: str) -> None:
    lister = reranker(reranked().model).lister
    lists = own(reranked().model).lists(lister, encoded(text))
    assert lists.traits.shape == (1, 3, TRAITS)
    assert np.isfinite(lists.traits).all()


def test_reranking_changes_the_order_and_keeps_the_sum() -> None:
    scorer = own(reranked().model)
    lister = reranker(reranked().model).lister
    last = replace(reranker(reranked().model).judge, linear=np.zeros(TRAITS, np.float32))
    zeros = np.zeros_like(last.outer)
    backwards = np.zeros(TRAITS, np.float32)
    backwards[0] = -1.0  # the log share
    judge = replace(last, linear=backwards, outer=zeros)
    texts = encoded("wheat barley", "office cleaning")
    before, _ = replace(scorer, reranker=None).shares(lambda encoder: texts)
    after, _ = replace(scorer, reranker=Reranker(lister, judge)).shares(lambda encoder: texts)
    assert after.sum(axis=1) == pytest.approx(before.sum(axis=1), rel=1e-5)
    assert after.argmax(axis=1).tolist() == before.argmin(axis=1).tolist()


def test_a_judge_learns_the_trait_that_tells_the_right_candidate() -> None:
    random = np.random.default_rng(0)
    traits = random.normal(size=(1_600, 5, TRAITS))
    right = traits[:, :, 3] == traits[:, :, 3].max(axis=1, keepdims=True)
    judge = fit(traits[:1_500], right[:1_500], np.ones(1_500))
    best = judge.scores(traits[1_500:]).argmax(axis=1)
    assert right[1_500:][np.arange(100), best].mean() > 0.8
    again = fit(traits[:1_500], right[:1_500], np.ones(1_500))
    assert again.linear.tolist() == judge.linear.tolist()


def test_a_text_of_little_weight_teaches_little() -> None:
    traits = np.random.default_rng(0).normal(size=(1_600, 5, TRAITS))
    up = traits[:, :, 3] == traits[:, :, 3].max(axis=1, keepdims=True)
    down = traits[:, :, 3] == traits[:, :, 3].min(axis=1, keepdims=True)
    right = np.concatenate([up[:800], down[800:]])
    weights = np.repeat([1.0, 0.01], 800)
    best = fit(traits, right, weights).scores(traits).argmax(axis=1)
    assert up[np.arange(1_600), best].mean() > 0.7


def test_each_source_is_a_fold_and_small_ones_share_one() -> None:
    sources = np.repeat([0, 1, 2, 3], [100, 90, 10, 20])
    found = folds(sources)
    assert [int(fold.sum()) for fold in found] == [100, 90, 30]
    assert (np.sum(found, axis=0) == 1).all()


def test_a_source_with_most_of_the_texts_is_divided() -> None:
    sources = np.repeat([0, 1], [400, 100])
    found = folds(sources)
    assert len(found) == 5
    assert (np.sum(found, axis=0) == 1).all()
    assert not any(fold[:400].any() and fold[400:].any() for fold in found)


def test_small_sources_alone_are_more_than_one_fold() -> None:
    found = folds(np.repeat([0, 1], 20))
    assert len(found) > 1
    assert (np.sum(found, axis=0) == 1).all()


def test_the_figures_are_those_of_rerankers_that_did_not_learn_the_texts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trained = reranked()
    learned_by: list[int] = []

    def counting(traits: Floats, right: Bools, weights: Floats) -> Judge:
        learned_by.append(len(traits))
        return reranker(trained.model).judge

    monkeypatch.setattr("pipeline.engine.training.reranking.fit", counting)
    some = history(200, seed=1, noise=0.2)
    task = Task(
        "cpv",
        Examples.of(*history(300)),
        Examples.of(*some),
        Examples.of(TITLES, CODES),
        np.ones(500, np.float32),
        np.ones(3, np.float32),
        np.ones(3, np.float32),
        recognises=False,
        sources=np.repeat([0, 1], 100),
    )
    tried(task, replace(own(trained.model), reranker=None))
    assert learned_by == [100, 100, 200]


def test_answers_do_not_depend_on_the_batch() -> None:
    texts, _ = history(40, seed=5)
    together, sure = reranked().model.predict(texts, 3)
    for row, text in enumerate(texts):
        alone, own_sure = reranked().model.predict([text], 3)
        assert alone[0].tolist() == together[row].tolist()
        assert own_sure[0] == pytest.approx(sure[row], abs=1e-6)


def test_a_model_that_was_saved_reranks_as_before(tmp_path: Path) -> None:
    save([reranked().model], tmp_path / "model", {})
    kept = load_model(model_folder(tmp_path / "model"), "cpv")
    texts, _ = history(40, seed=6)
    lister = reranker(kept).lister
    before = reranker(reranked().model).lister
    assert lister.words.codes.tolist() == before.words.codes.tolist()
    places, _ = kept.predict(texts, 3)
    assert places[:, 0].tolist() == reranked().model.predict(texts, 3)[0][:, 0].tolist()


def test_a_model_of_form_3_has_no_reranker_and_still_answers(tmp_path: Path) -> None:
    save([taught().model], tmp_path / "model", {})
    say(tmp_path / "model", about(tmp_path / "model") | {"form": 3})
    kept = load_model(model_folder(tmp_path / "model"), "cpv")
    assert own(kept).reranker is None
    texts, _ = history(20, seed=6)
    assert kept.predict(texts, 1)[0].tolist() == taught().model.predict(texts, 1)[0].tolist()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cpv.word_codes", 3),
        ("cpv.word_lengths", 9),
        ("cpv.word_scales", np.nan),
        ("cpv.word_texts", -1),
        ("cpv.judge_scale", 0),
        ("cpv.judge_inner", np.inf),
        ("cpv.judge_linear", np.nan),
    ],
)
def test_a_reranker_with_a_value_that_training_would_not_write_is_refused(
    tmp_path: Path, name: str, value: float
) -> None:
    save([reranked().model], tmp_path / "model", {})
    element(name, 0, value)(tmp_path / "model")
    with pytest.raises(SettingsError, match="is damaged"):
        load_model(model_folder(tmp_path / "model"), "cpv")


def test_a_reranker_without_one_of_its_arrays_is_refused(tmp_path: Path) -> None:
    save([reranked().model], tmp_path / "model", {})
    without("cpv.judge_bias")(tmp_path / "model")
    with pytest.raises(SettingsError, match=r"it has no array cpv\.judge_bias"):
        load_model(model_folder(tmp_path / "model"), "cpv")
