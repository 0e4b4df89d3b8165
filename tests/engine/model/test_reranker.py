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
from pipeline.engine.model.reading import Reading
from pipeline.engine.model.reranker import TRAITS, Judge, Reranker
from pipeline.engine.model.scorer import Scorer, blend
from pipeline.engine.model.stored import own
from pipeline.engine.model.word_index import MEASURES
from pipeline.engine.training import Examples, Task, Trained, history_recipe
from pipeline.engine.training.train import train
from pipeline.engine.training.validation import finished, tried
from pipeline.engine.training.word_index import build
from pipeline.errors import SettingsError
from tests.engine.model.spoiling import Spoil, element, rewritten, without
from tests.engine.model.training_data import history, ignored

CODES = ("03111000", "45233140", "90910000")
TITLES = ("Wheat and barley seeds", "Road paving", "Office cleaning")
TEXTS = ("barley wheat", "paving asphalt", "")


def task(sources: list[int]) -> Task:
    """Return a task whose held-out texts are of some sources."""
    return Task(
        "cpv",
        Examples.of(*history(300)),
        Examples.of(*history(len(sources), seed=1, noise=0.2)),
        Examples.of(TITLES, CODES),
        np.ones(300 + len(sources), np.float32),
        np.ones(3, np.float32),
        np.ones(3, np.float32),
        learns_held_back=False,
        recognises=False,
        sources=np.array(sources),
    )


@cache
def reranked() -> Trained:
    """Return a model whose reranker learned from held-out texts of three sources."""
    (trained,) = train([task([0, 1, 2] * 70)], history_recipe(300), ignored)
    return trained


def reranker(model: Model) -> Reranker:
    found = model.scores.reranker
    assert found is not None
    return found


def encoded(*texts: str) -> Encoded:
    return own(reranked().model).encoder.encode(count(texts))


def measured(*texts: str) -> Floats:
    """Return what is known of each text and each of the three codes."""
    places = np.tile([0, 1, 2], (len(texts), 1))
    return reranker(reranked().model).lister.words.measured(encoded(*texts).words, places)


def test_a_text_is_closest_to_the_code_with_its_words() -> None:
    found = measured(*TEXTS)
    assert found[0].argmax(axis=0).tolist() == [0, 0, 0, 0]
    assert found[1, :, 0].argmax() == found[1, :, 1].argmax() == 1
    assert found[2].tolist() == np.zeros((3, MEASURES)).tolist()


def test_half_of_a_title_measures_less_than_the_whole_title() -> None:
    half, whole = measured("road", "road paving")[:, 1, 2]
    assert 0 < half < whole <= 1.02


def test_a_word_of_too_many_codes_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.engine.training.word_index.MOST_CODES", 2)
    scorer = own(reranked().model)
    texts = ["wheat district", "road district", "office district"]
    none = Examples.of([], [])
    words = build(scorer.encoder.vocabulary, scorer.codes, Examples.of(texts, CODES), none)
    seen = words.measured(encoded("district", "wheat").words, np.tile([0, 1, 2], (2, 1)))
    assert not seen[0, :, 1].any()
    assert seen[1, :, 1].tolist() == [pytest.approx(seen[1].max()), 0, 0]


def test_the_index_keeps_the_words_of_the_most_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.engine.training.word_index.MOST_ENTRIES", 1)
    scorer = own(reranked().model)
    taught = Examples.of(["wheat", "road", "road"], [CODES[0], CODES[1], CODES[1]])
    words = build(scorer.encoder.vocabulary, scorer.codes, taught, Examples.of([], []))
    seen = words.measured(encoded("wheat", "road").words, np.tile([0, 1], (2, 1)))
    assert seen[:, :, 1].tolist() == [[0, 0], [0, pytest.approx(seen[1, 1, 1])]]
    assert seen[1, 1, 1] > 0


def test_a_code_that_the_index_lacks_can_be_a_candidate() -> None:
    words = reranker(reranked().model).lister.words
    known, unknown = words.measured(encoded("barley wheat").words, np.array([[0, 3]]))[0]
    assert known.all()
    assert unknown.tolist() == [0] * MEASURES


def test_reranking_changes_the_order_and_keeps_the_sum() -> None:
    scorer, lister = own(reranked().model), reranker(reranked().model).lister
    backwards = np.zeros(TRAITS, np.float32)
    backwards[0] = -1.0  # the log share
    own_judge = reranker(reranked().model).judge
    judge = replace(own_judge, linear=backwards, outer=np.zeros_like(own_judge.outer))
    read = Reading(lambda encoder: encoder.encode(count(["wheat barley", "office cleaning"])))
    before, _ = replace(scorer, reranker=None).shares(read)
    after, _ = replace(scorer, reranker=Reranker(lister, judge)).shares(read)
    assert after.sum(axis=1) == pytest.approx(before.sum(axis=1), rel=1e-5)
    assert after.argmax(axis=1).tolist() == before.argmin(axis=1).tolist()


def test_a_weight_says_how_far_the_shares_are_changed() -> None:
    scorer, own_reranker = own(reranked().model), reranker(reranked().model)
    texts = encoded("wheat seeds", "wheat seeds", "wheat seeds")
    shares, _ = replace(scorer, reranker=None).shares(Reading(lambda encoder: texts))
    changed = shares.copy()
    own_reranker.rerank(changed, texts, np.array([0.0, 0.5, 1.0]))
    assert changed[0] == pytest.approx(shares[0], rel=1e-5)
    assert changed[1] == pytest.approx((changed[0] + changed[2]) / 2, rel=1e-5)
    assert changed[2] != pytest.approx(shares[2], rel=1e-5)


def test_in_a_blend_without_a_gate_it_reorders_the_codes_of_every_text() -> None:
    scorer = replace(own(reranked().model), reranker=None)
    texts = encoded("wheat seeds", "office cleaning")
    both = blend(scorer, scorer, 0.5)
    shares, _ = both.shares(Reading(lambda encoder: texts))
    changed, _ = replace(both, reranker=reranker(reranked().model)).shares(
        Reading(lambda encoder: texts)
    )
    assert (changed != shares).any(axis=1).all()


def test_the_figures_are_those_of_rerankers_that_did_not_learn_the_texts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    learned_by: list[int] = []

    def counting(traits: Floats, right: Bools, weights: Floats) -> Judge:
        learned_by.append(len(traits))
        return reranker(reranked().model).judge

    monkeypatch.setattr("pipeline.engine.training.reranking.fit", counting)
    tried(task([0] * 100 + [1] * 100), replace(own(reranked().model), reranker=None))
    assert sorted(learned_by) == [100, 100, 200]


def test_a_fold_has_no_reranker_if_the_others_teach_too_little() -> None:
    some = task([0] * 100 + [1] * 100)
    codes = some.held_back.codes.copy()
    codes[:100] = "98390000"  # no candidate
    some = replace(some, held_back=replace(some.held_back, codes=codes))
    trial = tried(some, replace(own(reranked().model), reranker=None))
    assert trial.model.scores.reranker is not None
    assert np.isfinite(trial.sure).all()


def test_for_a_general_label_every_code_of_its_field_is_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taught: list[Bools] = []

    def noting(traits: Floats, right: Bools, weights: Floats) -> Judge:
        taught.append(right)
        return reranker(reranked().model).judge

    monkeypatch.setattr("pipeline.engine.training.reranking.fit", noting)
    some = task([0] * 100)
    codes = some.held_back.codes.copy()
    codes[:50] = "45000000"
    some = replace(some, held_back=replace(some.held_back, codes=codes))
    tried(some, replace(own(reranked().model), reranker=None))
    assert taught[0].sum(axis=1).tolist() == [1] * 100  # of the three codes, one is in the field


@pytest.mark.parametrize("sources", [[0] * 40, None])
def test_with_few_texts_or_without_their_sources_there_is_no_reranker(
    sources: list[int] | None,
) -> None:
    few = replace(task([0] * 40), sources=None if sources is None else np.array(sources))
    trial = tried(few, replace(own(reranked().model), reranker=None))
    assert trial.model.scores.reranker is None


def test_the_finished_model_keeps_the_judge_and_indexes_what_it_learned() -> None:
    some = replace(task([0, 1, 2] * 70), learns_held_back=True)
    trial = reranked().model
    scores = trial.scores
    assert isinstance(scores, Scorer)
    found = reranker(finished(some, replace(scores, reranker=None), trial))
    assert found.judge is reranker(trial).judge
    assert found.lister.words.texts.sum() == len(some.taught) + len(some.held_back)
    assert reranker(trial).lister.words.texts.sum() == len(some.taught)


def test_answers_do_not_depend_on_the_batch() -> None:
    texts, _ = history(40, seed=5)
    together, sure = reranked().model.predict(texts, 3)
    for row, text in enumerate(texts):
        alone, own_sure = reranked().model.predict([text], 3)
        assert (alone[0].tolist(), own_sure[0].tolist()) == (
            together[row].tolist(),
            sure[row].tolist(),
        )


def test_a_model_that_was_saved_reranks_as_before(tmp_path: Path) -> None:
    save([reranked().model], tmp_path / "model", {})
    kept = load_model(model_folder(tmp_path / "model"), "cpv")
    texts, _ = history(40, seed=6)
    places, _ = kept.predict(texts, 3)
    assert places.tolist() == reranked().model.predict(texts, 3)[0].tolist()
    words, before = (reranker(each).lister.words for each in (kept, reranked().model))
    assert words.titles.codes.tolist() == before.titles.codes.tolist()
    assert words.examples.values.tolist() == before.examples.values.tolist()


def another_trait(folder: Path) -> None:
    for name in ("cpv.judge_linear", "cpv.judge_inner"):
        rewritten(name, lambda weights: np.concatenate([weights, weights[:1]]))(folder)


@pytest.mark.parametrize(
    "spoil",
    [
        element("cpv.word_codes", 0, 3),
        element("cpv.word_lengths", 0, 9),
        element("cpv.word_scales", 0, np.nan),
        element("cpv.title_codes", 0, 3),
        element("cpv.title_lengths", 0, 9),
        element("cpv.texts", 0, -1),
        element("cpv.judge_inner", 0, np.inf),
        element("cpv.judge_linear", 0, np.nan),
        without("cpv.judge_bias"),
        another_trait,
    ],
)
def test_a_reranker_that_training_would_not_write_is_refused(tmp_path: Path, spoil: Spoil) -> None:
    save([reranked().model], tmp_path / "model", {})
    spoil(tmp_path / "model")
    with pytest.raises(SettingsError, match="is damaged"):
        load_model(model_folder(tmp_path / "model"), "cpv")
