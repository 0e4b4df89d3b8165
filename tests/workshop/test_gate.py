"""The gate between a model of publishers and the general model beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from pipeline.engine.model.calibration import Calibration
from pipeline.engine.model.explain import explain
from pipeline.engine.model.features import count
from pipeline.engine.model.gate import Gate
from pipeline.engine.model.model import Model
from pipeline.engine.model.reading import Reading
from pipeline.engine.model.scorer import Blend, Scorer
from pipeline.engine.model.stored import model_arrays
from pipeline.engine.training import Examples, history_recipe, history_task
from pipeline.engine.training.train import train
from tests.engine.model.training_data import history, ignored, taught
from tests.workshop.tasks import as_recipe, of_workshop
from workshop import training
from workshop.training import learned_gate

WORDED_ALIKE = ["dyke of the polder", "sluice and weir"]
WORDED_OTHERWISE = ["wheat and seeds", "asphalt for a road", "cleaning of windows"]


@cache
def general() -> Model:
    """A model that knows the words of publishers, with codes of its own for them, and others."""
    texts, codes = history(200)
    mixed = [*texts, *["polder dyke", "weir sluice"] * 30], [*codes, *["34512000", "37310000"] * 30]
    (trained,) = train(
        [history_task("cpv", Examples.of(*mixed), None)], history_recipe(260), ignored
    )
    return trained.model


@cache
def gated() -> Blend:
    """A model of texts on dykes and weirs, beside the general one."""
    texts, codes = ["polder dyke", "weir sluice"] * 150, ["45240000", "45248000"] * 150
    others, none = history(300, seed=4)[0], [""] * 300
    task = history_task("cpv", Examples.of(texts, codes), general())
    own = of_workshop(task, others=Examples.of(others, none))
    recipe = history_recipe(len(texts))
    (trained,) = training.train([own], as_recipe(recipe), ignored)
    assert isinstance(trained.model.scores, Blend)
    return trained.model.scores


def reading(texts: Sequence[str]) -> Reading:
    counts = count(texts)
    return Reading(lambda encoder: encoder.encode(counts), counts)


def openness(texts: list[str]) -> list[float]:
    gate = gated().gate
    assert gate is not None
    found: list[float] = gate.openness(reading(texts)).tolist()
    return found


def test_it_opens_for_texts_worded_like_the_examples_and_for_no_others() -> None:
    assert min(openness(WORDED_ALIKE)) > 0.7
    assert max(openness(WORDED_OTHERWISE)) < 0.2


def test_a_text_opens_it_as_far_alone_as_among_others() -> None:
    texts = [f"{text} {number}" for number in range(40) for text in WORDED_ALIKE]
    together = openness(texts)
    assert [openness([text])[0] for text in texts] == together


def test_behind_a_closed_gate_the_general_model_answers_alone() -> None:
    blend = gated()
    _, own, other, _ = blend.parts(reading(WORDED_OTHERWISE))
    assert own.sum() < 0.1 * other.sum()
    _, own, other, _ = blend.parts(reading(WORDED_ALIKE))
    assert own.sum(axis=1).min() > other.sum(axis=1).max()
    shares, _ = blend.shares(reading(WORDED_ALIKE))
    assert blend.codes[shares.argmax(axis=1)].tolist() == ["45240000", "45248000"]


def test_an_answer_is_explained_by_the_model_that_gave_it() -> None:
    blend = gated()
    places = {code: np.array([place]) for place, code in enumerate(blend.codes.tolist())}
    asked = ["dyke of the polder by the road", "asphalt for a road"]
    found = explain(blend, asked, [places["45240000"], places["45233140"]])
    assert {word for word, _ in found[0]} <= {"dyke", "polder"}
    assert {word for word, _ in found[1]} == {"asphalt", "road"}


def test_models_with_the_same_codes_are_mixed_alike_in_place() -> None:
    (own, other), weight = (taught(rows).model.scores for rows in (300, 200)), 0.4
    assert isinstance(own, Scorer)
    read = reading(WORDED_OTHERWISE)
    codes, places = own.codes, np.arange(len(own.codes))
    same, placed = (
        Blend(own, other, weight, None, None, codes, places, together).shares(read)[0]
        for together in (True, False)
    )
    assert same.tobytes() == placed.tobytes()
    assert same.sum(axis=1) == pytest.approx(1, abs=1e-4)


def test_a_gate_between_texts_worded_alike_stays_half_open() -> None:
    scores = general().scores
    assert isinstance(scores, Scorer)
    texts, _ = history(60, seed=8)
    half = Examples.of(texts[:30], [""] * 30), Examples.of(texts[30:], [""] * 30)
    gate = learned_gate(scores.encoder, *half)
    opened = gate.openness(reading(history(50, seed=6)[0]))
    assert 0.3 < opened.mean() < 0.7


def test_it_is_kept_with_the_model() -> None:
    model = replace(general(), scores=gated())
    gate = gated().gate
    assert isinstance(gate, Gate)
    assert model_arrays(model)["gate"].tobytes() == gate.weights.tobytes()


def test_a_text_behind_it_is_as_sure_as_the_general_model_is() -> None:
    apart = Calibration(np.array([3.0, 0, 0, 0])), Calibration(np.array([-3.0, 0, 0, 0]))
    model = replace(general(), scores=gated(), calibration=apart[0], behind_gate=apart[1])
    _, like_its_examples = model.predict(["polder dyke"], 1)
    _, otherwise = model.predict(WORDED_OTHERWISE, 1)
    assert like_its_examples.min() > 0.8
    assert otherwise.max() < 0.2


def test_the_model_is_not_asked_about_texts_that_its_gate_stops() -> None:
    blend = gated()
    assert blend.gate is not None
    shut = np.zeros_like(blend.gate.weights)
    shut[0] = -10
    stopped = replace(blend, gate=Gate(blend.gate.encoder, shut))
    texts = WORDED_ALIKE
    asked, own, other, _ = stopped.parts(reading(texts))
    assert (len(asked), len(own)) == (0, 0)
    alone, _ = general().scores.shares(reading(texts))
    assert other.tobytes() == alone.tobytes()
    assert stopped.shares(reading(texts))[0].sum() == pytest.approx(2)
