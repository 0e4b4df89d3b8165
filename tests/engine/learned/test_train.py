from __future__ import annotations

import numpy as np

from pipeline.engine.learned import Examples, Model, train
from pipeline.engine.learned.calibrate import calibration_error
from pipeline.engine.learned.train import work
from tests.engine.learned.lessons import NOTHING, WORDS, history, ignored, taught


def answers(model: Model, texts: list[str], top: int = 1) -> list[list[str]]:
    places, _ = model.predict(texts, top)
    found: list[list[str]] = model.codes[places].tolist()
    return found


def test_codes_are_learnt_from_examples_and_stay_text_with_their_leading_zeros() -> None:
    texts = ["wheat for the school", "paving of a road", "windows of the harbour"]
    assert answers(taught().model, texts) == [["03111000"], ["45233140"], ["90910000"]]


def test_the_held_back_tenth_is_answered_by_a_model_that_lacks_it() -> None:
    trained = taught()
    assert trained.held_back == 30
    assert trained.right[1] > 0.9
    assert trained.right[1] <= trained.right[5] <= trained.right[10] == 1


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


def test_titles_teach_codes_that_no_example_names() -> None:
    titles = Examples.of(["Fishing vessels", "Musical instruments"], ["34512000", "37310000"])
    model = train("cpv", Examples.of(*history(60)), titles, ignored).model
    assert answers(model, ["fishing vessels", "musical instruments"]) == [
        ["34512000"],
        ["37310000"],
    ]
    assert model.codes[model.exampled].tolist() == sorted(WORDS)
    assert not model.only_history


def test_one_code_is_a_model_too() -> None:
    model = train("cpv", Examples.of(["wheat", "barley"] * 5, ["03111000"] * 10), NOTHING, ignored)
    assert answers(model.model, ["wheat seeds"], 5) == [["03111000"]]


def test_the_same_history_makes_the_same_model() -> None:
    one, two = (train("cpv", Examples.of(*history(60)), NOTHING, ignored).model for _ in range(2))
    assert one.packed.tobytes() == two.packed.tobytes()
    assert one.directions.tobytes() == two.directions.tobytes()
    assert one.memory.vectors.tobytes() == two.memory.vectors.tobytes()
    assert one.calibration is not None
    assert two.calibration is not None
    assert one.calibration.weights.tobytes() == two.calibration.weights.tobytes()


def test_progress_comes_to_about_the_work_that_was_announced() -> None:
    done: list[int] = []
    titles = Examples.of(["Fishing vessels"], ["34512000"])
    train("cpv", Examples.of(*history(60)), titles, done.append)
    assert sum(done) == work(60, 1)


def test_a_text_of_the_history_gets_its_usual_code_whatever_the_words_say() -> None:
    texts, codes = history(60)
    texts += ["Asphalt Road paving"] * 5
    codes += ["03111000", "03111000", "90910000", "03111000", "45233140"]
    model = train("cpv", Examples.of(texts, codes), NOTHING, ignored).model
    assert answers(model, ["asphalt  ROAD paving"]) == [["03111000"]]
    assert answers(model, ["asphalt paving"]) == [["45233140"]]
    _, confidence = model.predict(["asphalt road paving"], 3)
    assert confidence[0].tolist() == sorted(confidence[0].tolist(), reverse=True)


def test_how_often_a_code_is_new_is_measured_on_the_examples_held_back() -> None:
    texts, codes = history(200)
    fresh = [f"{number:04d}0000" for number in range(10, 110)]
    codes[:100] = fresh
    unseen = train("cpv", Examples.of(texts, codes), NOTHING, ignored).model.unseen
    assert 0.2 < unseen < 0.8
