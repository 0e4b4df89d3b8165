"""The figures of a model on held-out rows."""

from __future__ import annotations

from dataclasses import replace

from pipeline.engine.training import Examples, history_task
from pipeline.training.figures import flips
from tests.engine.model.training_data import history, learned, taught


def test_the_same_model_flips_nothing() -> None:
    task = history_task("cpv", Examples.of(*history(300)), None)
    found = flips(taught(), task, taught().model)
    assert found["changed"] == found["better"] == found["worse"] == 0


def test_a_flip_is_better_worse_or_neither() -> None:
    """The previous model gives each text the code of the next field."""
    texts, codes = history(300)
    after = {"03111000": "45233140", "45233140": "90910000", "90910000": "03111000"}
    wrong = learned(texts, [after[code] for code in codes]).model
    task = history_task("cpv", Examples.of(texts, codes), None)
    held = replace(taught(), truth=task.held_back.codes)
    found = flips(held, task, wrong)
    assert found["changed"] == found["better"] == 1
    assert found["worse"] == 0
    previous = replace(held, found=held.found[:, ::-1], model=wrong)
    assert flips(previous, task, taught().model)["worse"] > 0.9
