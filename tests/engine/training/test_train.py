from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from pipeline.answers import System
from pipeline.codes import load
from pipeline.engine.model.acceptance import calibration_error
from pipeline.engine.model.encoder import Blend, EncodedBatch, Scorer
from pipeline.engine.model.features import count
from pipeline.engine.model.matrices import Floats, Ints, softmax
from pipeline.engine.training import history_recipe, work
from pipeline.engine.training.dataset import learnable
from pipeline.engine.training.network import (
    Head,
    Network,
    NetworkSettings,
    TrainingSet,
    fit,
    merge,
    prior,
    traits,
    tree,
)
from pipeline.engine.training.train import train
from tests.engine.model.training_data import (
    PHRASES,
    answers,
    history,
    ignored,
    learned,
    small,
    task,
    taught,
)


def test_codes_are_learnt_from_examples_and_stay_text_with_their_leading_zeros() -> None:
    texts = ["wheat for the school", "paving of a road", "windows of the harbour"]
    assert answers(taught().model, texts) == [["03111000"], ["45233140"], ["90910000"]]


def test_the_held_back_tenth_is_answered_by_a_model_that_lacks_it() -> None:
    trained = taught()
    assert len(trained.truth) == 30
    assert trained.right(1) > 0.9
    assert trained.right(1) <= trained.right(5) <= trained.right(10) == 1


def test_confidence_is_right_as_often_as_it_says_where_labels_are_noisy() -> None:
    model = taught(1500, 0.6).model
    texts, codes = history(1000, seed=9, noise=0.6)
    places, confidence = model.predict(texts, 1)
    right = model.codes[places[:, 0]] == np.array(codes)
    assert 0.5 < right.mean() < 0.7
    assert calibration_error(confidence[:, 0], right) < 0.1


def test_a_text_without_a_known_word_has_no_confidence() -> None:
    _, confidence = taught().model.predict(["", "!!!", "жюфц"], 3)
    assert not confidence.any()


def test_phrases_teach_codes_that_no_example_names() -> None:
    (trained,) = train([task("cpv", *history(60), PHRASES)], small(), ignored)
    assert answers(trained.model, ["fishing vessels", "musical instruments"]) == [
        ["34512000"],
        ["37310000"],
    ]
    assert not trained.model.only_history


def test_systems_learn_together_share_their_features_and_answer_each_for_itself() -> None:
    texts, codes = history(100)
    psc = {"03111000": "8730", "45233140": "Z2LB", "90910000": "S201"}
    tasks = [
        task("cpv", texts, codes, ([], [])),
        task("psc", texts[:20], [psc[code] for code in codes[:20]], ([], [])),
    ]
    cpv, other = (trained.model for trained in train(tasks, small(), ignored))
    assert isinstance(cpv.scores, Scorer)
    assert isinstance(other.scores, Scorer)
    assert cpv.scores.encoder is other.scores.encoder
    asked = ["barley grain", "kerbs asphalt", "windows janitor"]
    assert answers(cpv, asked) == [["03111000"], ["45233140"], ["90910000"]]
    assert answers(other, asked) == [["8730"], ["Z2LB"], ["S201"]]


def test_networks_that_learn_in_processes_of_their_own_come_to_the_same() -> None:
    tasks = [task("cpv", *history(60), PHRASES)]
    texts, _ = history(20, seed=5)
    confidences = []
    for jobs in (1, 2):
        done: list[int] = []
        model = train(tasks, small(), done.append, jobs)[0].model
        confidences.append(model.predict(texts, 3)[1].tobytes())
        assert sum(done) == work(tasks, small()), "the progress that was announced"
    assert confidences[0] == confidences[1]


def test_a_history_is_blended_with_the_model_beside_it() -> None:
    (other,) = train([task("cpv", *history(60), PHRASES)], small(), ignored)
    texts = ["polder dyke", "weir sluice"] * 40
    model = learned(texts, ["45240000", "45248000"] * 40, other.model).model
    assert isinstance(model.scores, Blend)
    assert not model.only_history
    asked = ["the dyke of a polder", "fishing vessels", "wheat seeds"]
    assert answers(model, asked) == [["45240000"], ["34512000"], ["03111000"]]
    shares, _ = model.scores.shares(EncodedBatch(count(asked)))
    assert shares.sum(axis=1) == pytest.approx(1, abs=1e-4)
    few = learned(texts[:20], ["45240000", "45248000"] * 10, other.model).model
    assert few.weight < 0.4 < model.weight, "two held-out texts are little evidence"


def test_the_better_half_of_a_blend_weighs_more() -> None:
    texts, codes = history(200)
    shuffled = [codes[(number * 7) % len(codes)] for number in range(len(codes))]
    good, bad = taught().model, learned(texts, shuffled).model
    beside_good, beside_bad = (learned(texts, codes, each).model.scores for each in (good, bad))
    assert isinstance(beside_good, Blend)
    assert isinstance(beside_bad, Blend)
    assert beside_bad.weight > beside_good.weight


def test_one_code_is_a_model_too() -> None:
    model = learned(["wheat", "barley"] * 5, ["03111000"] * 10)
    assert answers(model.model, ["wheat seeds"], 5) == [["03111000"]]


def test_the_same_history_makes_the_same_model() -> None:
    one, two = (learned(*history(60)).model for _ in range(2))
    first, second = one.scores, two.scores
    assert isinstance(first, Scorer)
    assert isinstance(second, Scorer)
    assert first.encoder.weights.places.tobytes() == second.encoder.weights.places.tobytes()
    assert first.directions.levels.tobytes() == second.directions.levels.tobytes()
    assert one.calibration is not None
    assert two.calibration is not None
    assert one.calibration.weights.tobytes() == two.calibration.weights.tobytes()


def test_a_small_history_is_read_more_often_than_a_large_one() -> None:
    few, many = history_recipe(100), history_recipe(50_000)
    assert few.networks[0].epochs > many.networks[0].epochs


def test_a_text_of_the_history_gets_its_usual_code_whatever_the_words_say() -> None:
    texts, codes = history(60)
    texts += ["Asphalt Road paving"] * 5
    codes += ["03111000", "03111000", "90910000", "03111000", "45233140"]
    model = learned(texts, codes).model
    assert answers(model, ["asphalt  ROAD paving"]) == [["03111000"]]
    assert answers(model, ["asphalt paving"]) == [["45233140"]]
    _, confidence = model.predict(["asphalt road paving"], 3)
    assert confidence[0].tolist() == sorted(confidence[0].tolist(), reverse=True)


def network(seed: int) -> Network:
    random = np.random.default_rng(seed)

    def normal(*shape: int) -> Floats:
        return random.standard_normal(shape, dtype=np.float32)

    heads = tuple(Head(normal(codes, 3), np.log(np.full(codes, 1 / codes))) for codes in (5, 9))
    return Network(normal(40, 3), heads)


def scores(network: Network, system: int) -> Floats:
    found: Floats = network.features @ network.heads[system].directions.T
    return found


@pytest.mark.parametrize("system", [0, 1])
def test_the_merged_network_scores_as_the_mean_of_the_networks_for_every_system(
    system: int,
) -> None:
    networks = [network(1), network(2)]
    merged = merge(networks, np.ones(40, np.float32), 6)
    assert merged.features.shape == (40, 6)
    mean = np.mean([scores(each, system) for each in networks], axis=0)
    assert scores(merged, system) == pytest.approx(mean, abs=1e-3)


def test_fewer_dimensions_keep_most_of_it() -> None:
    networks = [network(1), network(2)]
    mean = np.mean([scores(each, 0) for each in networks], axis=0)
    off = scores(merge(networks, np.ones(40, np.float32), 4), 0) - mean
    assert 0 < (off**2).sum() < 0.3 * (mean**2).sum()


@pytest.mark.parametrize(
    ("system", "code", "shared"),
    [
        ("cpv", "03111000", {"=03111000", "03", "031", "0311", "03111"}),
        ("unspsc", "43210000", {"=43210000", "43", "4321"}),
        ("naics", "332111", {"=332111", "31-33", "332", "3321", "33211"}),
        ("psc", "J016", {"=J016", "J0", "J", "equipment 16"}),
        ("psc", "1680", {"=1680", "16", "supplies", "equipment 16"}),
    ],
)
def test_a_code_has_the_traits_of_what_it_is_part_of(
    system: System, code: str, shared: set[str]
) -> None:
    assert set(traits(system, code)) == shared


def test_codes_of_a_group_share_its_column() -> None:
    matrix = tree("cpv", ["03111000", "03112000", "90910000"]).toarray()
    assert (matrix[0] @ matrix[1], matrix[0] @ matrix[2]) == (3, 0)


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
    settings = NetworkSettings(8, 20, 32, dropout=0.8, softness=2 / 3)
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
