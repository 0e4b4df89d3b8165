"""The figures of a model on held-out rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pandas as pd
import pytest

import pipeline
from pipeline.codes import load, retirements
from pipeline.engine.training import Dataset, Examples, Trained, history_task
from pipeline.training.run import about_model, flips
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


def ok_of(sure: list[float], right: list[bool]) -> dict[str, float | None]:
    """Return the threshold of a model with these held-out rows."""
    truth = np.array(["03111000"] * len(sure))
    first = np.where(right, truth, "45233140")
    found = np.column_stack([first, *[np.full(len(sure), "")] * 9])
    held = Trained(taught().model, taught().model, truth, found, np.array(sure), 0)
    task = history_task("cpv", Examples.of(*history(300)), None)
    task = replace(task, held_back=Examples.of(["wheat"] * len(sure), truth.tolist()))
    dataset = Dataset(load("cpv"), retirements("cpv"))
    ok: dict[str, float | None] = about_model(dataset, task, held, taught().model)["held_back"][
        "ok"
    ]
    return ok


NONE = {"confidence": None, "rows": 0.0, "right": 0.0, "right_at_least": 0.0}


def test_a_threshold_of_ok_needs_twenty_rows_that_show_two_in_three_right() -> None:
    assert ok_of([0.9] * 19, [True] * 19) == NONE
    assert ok_of([0.9] * 20, [True] * 20)["confidence"] == 0.9
    assert ok_of([0.9] * 20, [True] * 14 + [False] * 6) == NONE  # 70 %, but of 20 rows
    assert ok_of([0.9] * 1_000, [True] * 700 + [False] * 300)["confidence"] == 0.9
    assert ok_of([0.9] * 300, [True] * 200 + [False] * 100) == NONE  # two in three, by luck
    assert ok_of([0.99] * 37, [True] * 6 + [False] * 31) == NONE


def test_a_threshold_of_ok_counts_all_rows_at_or_above_it() -> None:
    """A row in two of those with the confidence of the threshold is wrong."""
    sure = [0.8] * 50 + [0.60004] * 10
    right = [True] * 48 + [False] * 2 + [True, False] * 5
    found = ok_of(sure, right)
    assert (found["confidence"], found["rows"], found["right"]) == (0.6, 1.0, round(53 / 60, 4))
    assert found["right_at_least"] == pytest.approx(0.798, abs=0.001)
    assert ok_of([0.8] * 50 + [0.6] * 500, right[:50] + [False] * 500)["confidence"] == 0.8


def test_no_code_of_a_model_that_learned_nothing_is_ok(tmp_path: Path) -> None:
    """The codes of the history have nothing to do with its texts."""
    texts, codes = history(400)
    Random(1).shuffle(codes)
    frame = pd.DataFrame({"description": texts, "code": codes})
    model = pipeline.train(frame, system="cpv", output=tmp_path / "m", only_history=True)
    assert model.systems["cpv"].ok_from is None
    assert "no code will be `ok`" in str(model)
    with pytest.warns(UserWarning, match="No cpv code will be ok"):
        found = pipeline.classify(texts, systems="cpv", models=model).table
    assert set(found["cpv_status"].to_pylist()) == {"review"}
