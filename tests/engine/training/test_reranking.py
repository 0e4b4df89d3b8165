"""What a judge learns from the traits of candidates, and the folds that it learns in."""

from __future__ import annotations

import numpy as np
import pytest

from pipeline.engine.model.reranker import TRAITS
from pipeline.engine.training.reranking import fit, folds


def test_a_judge_learns_the_trait_that_tells_the_right_candidate() -> None:
    random = np.random.default_rng(0)
    traits = 5 + 3 * random.normal(size=(1_600, 5, TRAITS))
    right = traits[:, :, 3] == traits[:, :, 3].max(axis=1, keepdims=True)
    judge = fit(traits[:1_500], right[:1_500], np.ones(1_500))
    best = judge.scores(traits[1_500:]).argmax(axis=1)
    assert right[1_500:][np.arange(100), best].mean() > 0.8
    again = fit(traits[:1_500], right[:1_500], np.ones(1_500))
    assert again.linear.tolist() == judge.linear.tolist()


def test_a_trait_that_is_constant_in_training_says_nothing_later() -> None:
    traits = np.random.default_rng(0).normal(size=(100, 5, TRAITS))
    traits[:, :, 4] = 7.1
    judge = fit(traits, traits[:, :, 3] == traits[:, :, 3].max(axis=1, keepdims=True), np.ones(100))
    before = judge.scores(traits)
    traits[:, :, 4] += 0.001
    assert judge.scores(traits) == pytest.approx(before, abs=1e-4)
    assert np.abs(judge.bias).max() < 100


def test_a_text_of_little_weight_teaches_little() -> None:
    traits = np.random.default_rng(0).normal(size=(1_600, 5, TRAITS))
    up = traits[:, :, 3] == traits[:, :, 3].max(axis=1, keepdims=True)
    down = traits[:, :, 3] == traits[:, :, 3].min(axis=1, keepdims=True)
    right = np.concatenate([up[:800], down[800:]])
    weights = np.repeat([1.0, 0.01], 800)
    best = fit(traits, right, weights).scores(traits).argmax(axis=1)
    assert up[np.arange(1_600), best].mean() > 0.7


def test_each_source_is_a_fold_and_small_ones_share_one() -> None:
    found = folds(np.repeat([0, 1, 2, 3], [100, 90, 10, 20]))
    assert [int(fold.sum()) for fold in found] == [100, 90, 30]
    assert (np.sum(found, axis=0) == 1).all()


@pytest.mark.parametrize("rows", [(400, 100), (20, 20)])
def test_a_fold_with_most_of_the_texts_is_divided(rows: tuple[int, int]) -> None:
    found = folds(np.repeat([0, 1], rows))
    assert len(found) >= 4
    assert (np.sum(found, axis=0) == 1).all()


def test_a_judge_learns_from_several_candidates_that_may_be_right() -> None:
    traits = np.random.default_rng(0).normal(size=(1_600, 5, TRAITS))
    right = traits[:, :, 3] > 0
    kept = right.any(axis=1)
    best = fit(traits[kept], right[kept], np.ones(kept.sum())).scores(traits[kept]).argmax(axis=1)
    assert right[kept][np.arange(kept.sum()), best].mean() > 0.9
