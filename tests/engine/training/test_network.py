from __future__ import annotations

import numpy as np
from scipy import sparse

from pipeline.codes import load
from pipeline.engine.model.matrices import Floats, Ints, softmax
from pipeline.engine.training.dataset import learnable
from pipeline.engine.training.network import Settings, TrainingSet, fit, prior

WORDS = 60


def test_what_was_learned_from_thinned_texts_is_not_too_sure_of_whole_ones() -> None:
    random = np.random.default_rng(0)
    leaning = random.standard_normal(WORDS)
    taught, labels = _texts(leaning, 600, random)
    asked, truths = _texts(leaning, 600, random)
    ones = np.ones(len(labels))
    own = sparse.identity(2, np.float32, "csr")
    weights = ones.astype(np.float32)
    nothing = np.zeros(len(labels), np.bool_)
    evenly = prior(labels, weights, nothing, 2, ())
    data = TrainingSet(taught, labels, weights, ones, own, (), nothing, evenly)
    settings = Settings(8, 20, 32, dropout=0.8, softness=2 / 3)
    network = fit([data], settings, lambda read: None)
    [head] = network.heads
    scores = asked @ network.features @ head.directions.T
    louder = scores / (1 - settings.dropout) ** settings.softness
    assert _likelihood(scores + head.prior, truths) > _likelihood(louder + head.prior, truths)


def _texts(
    leaning: Floats, count: int, random: np.random.Generator
) -> tuple[sparse.csr_matrix, Ints]:
    """Return texts of ten words that each lean towards one of two codes, and a code by chance."""
    words = np.stack([random.choice(WORDS, 10, replace=False) for _ in range(count)])
    chance = 1 / (1 + np.exp(-leaning[words].mean(axis=1) * 3))
    vectors = np.zeros((count, WORDS), np.float32)
    np.put_along_axis(vectors, words, np.float32(10**-0.5), axis=1)
    return sparse.csr_matrix(vectors), (random.random(count) < chance).astype(np.intp)


def _likelihood(scores: Floats, truths: Ints) -> float:
    shares = softmax(scores.astype(np.float64))
    return float(np.log(shares[np.arange(len(truths)), truths] + 1e-12).mean())


def test_a_commodity_that_the_table_lacks_is_learned_if_its_segment_is_there() -> None:
    table = load("unspsc")
    assert learnable(table, "4321-1599") == "43211599"
    assert learnable(table, "43211500") == "43211500"
    assert learnable(table, "99999999") is None


def test_a_code_that_no_buyer_gives_to_a_tender_is_not_learned() -> None:
    assert learnable(load("naics"), "31-33") is None
    assert learnable(load("psc"), "70") is None
