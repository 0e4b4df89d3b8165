"""What a model learns from judged texts: order and confidence of its codes, and its figures."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.answers import SYSTEMS, System
from pipeline.engine.model import Model, load_model, model_folder, save
from pipeline.engine.model.acceptance import TRAITS, Acceptance, probability
from pipeline.engine.model.matrices import Floats
from pipeline.engine.training import Trained
from pipeline.errors import InputError
from tests.engine.model.training_data import history, ignored
from tests.workshop.tasks import SWAPPED, judgements, small, task
from workshop.acceptance import (
    NO_VERDICT,
    Judgement,
    Lessons,
    Verdict,
    judge,
    lister,
    read_judged,
)
from workshop.boosting import boosted
from workshop.training import Task, judging, train

CODES: dict[System, dict[str, str]] = {
    "cpv": {code: code for code in ("03111000", "45233140", "90910000")},
    "psc": {"03111000": "8730", "45233140": "Y1LB", "90910000": "S201"},
    "unspsc": {"03111000": "10151500", "45233140": "72141000", "90910000": "76111500"},
    "naics": {"03111000": "111140", "45233140": "237310", "90910000": "561720"},
}
"""The code of each system for those of the made-up history."""


def titles(system: System) -> tuple[list[str], list[str]]:
    """Return two titles and their codes."""
    return ["Wheat and barley seeds", "Road paving"], list(CODES[system].values())[:2]


@cache
def tasks() -> list[Task]:
    """Return tasks of all systems, of which that of CPV has an expert who disagrees."""
    texts, codes = history(300, noise=0.1)
    return [
        replace(
            task(system, texts, [CODES[system][code] for code in codes], titles(system)),
            recognises=False,
            judged=judgements(400, 3) if system == "cpv" else (),
        )
        for system in SYSTEMS
    ]


@cache
def trained() -> list[Trained]:
    return train(tasks(), small(1), ignored)


@cache
def judged() -> tuple[Model, dict[str, Any]]:
    """Return the model of CPV, which learned from the expert, and its figures."""
    return judging(tasks(), trained())["cpv"]


def judged_anew(
    judged: Sequence[Judgement], cosines: Floats | None = None
) -> tuple[Acceptance, dict[str, Any]]:
    """Return what a model of CPV that knows no verdicts learns from these, and its figures."""
    plain = trained()[0].model
    scorers = {each.model.system: each.model.own for each in trained()}
    listed = lister(task("cpv", *history(300), ([], [])), True, plain)
    return judge(plain, listed, scorers, judged, cosines)


def model() -> Model:
    return judged()[0]


def test_the_first_code_is_the_one_that_the_expert_accepts() -> None:
    unseen = judgements(100, 11)
    places, sure = model().predict([each.text for each in unseen], 3)
    first = model().codes[places[:, 0]].tolist()
    right = [
        code in each.verdicts["cpv"].accepted for code, each in zip(first, unseen, strict=True)
    ]
    assert np.mean(right) > 0.9
    assert sure[:, 0].mean() == pytest.approx(np.mean(right), abs=0.1)
    assert (np.diff(sure) <= 0).all(), "the likeliest first"


def test_the_figures_are_those_of_sources_that_taught_nothing() -> None:
    _, figures = judged()
    assert figures["texts"] == 400
    assert figures["accepted"] > 0.9
    assert figures["calibration_error"] < 0.1
    assert [*judging(tasks(), trained())] == ["cpv"]


def test_no_source_is_judged_by_what_it_taught() -> None:
    """An expert who judges each source by other rules cannot be learned from the others."""
    rules = [SWAPPED, {code: code for code in SWAPPED}]
    some = [
        replace(each, source=f"source {turn}")
        for turn, rule in enumerate(rules)
        for each in judgements(150, 3, rule)
        if not each.verdicts["cpv"].accepted & {"90910000"}
    ]
    _, figures = judged_anew(some)
    assert figures["accepted"] < 0.2


def test_texts_that_do_not_say_what_is_bought_are_not_sure() -> None:
    blank = Verdict(frozenset(), frozenset(), unknowable=True)
    nothing = [
        Judgement(f"district annual phase {n}", f"source {n % 7}", {"cpv": blank})
        for n in range(200)
    ]
    acceptance, figures = judged_anew([*judgements(400, 3), *nothing])
    learned = replace(trained()[0].model, acceptance=acceptance)
    _, sure = learned.predict(["district annual phase 201"], 1)
    assert figures["texts"] == 400, "they are in no share"
    assert sure[0, 0] < 0.3


def test_a_model_that_was_saved_judges_as_before(tmp_path: Path) -> None:
    save([model(), *(each.model for each in trained()[1:])], tmp_path / "model", {})
    folder = model_folder(tmp_path / "model")
    kept = load_model(folder, "cpv")
    texts, _ = history(40, seed=6)
    places, sure = kept.predict(texts, 3)
    assert places[:, 0].tolist() == model().predict(texts, 1)[0][:, 0].tolist()
    save([load_model(folder, system) for system in SYSTEMS], tmp_path / "again", {})
    again = load_model(model_folder(tmp_path / "again"), "cpv")
    for found, before in zip(again.predict(texts, 3), (places, sure), strict=True):
        assert found.tolist() == before.tolist()


def written(path: Path, *lines: Any) -> Path:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    return path


def test_judged_notices_are_read(tmp_path: Path) -> None:
    verdict = {
        "candidates": ["45233140", "45000000", "03111000"],
        "accepted": ["45233140"],
        "other": ["45233141"],
        "general": ["45000000"],
    }
    systems = {"cpv": verdict, "psc": {"unknowable": True, "candidates": ["Y1LB"]}}
    line = {"text": "Road", "source": "ted", "systems": systems}
    (found,) = read_judged(written(tmp_path / "j.jsonl.gz", line))
    assert found.verdicts["cpv"] == Verdict(
        frozenset({"45233140", "45233141"}), frozenset({"45000000", "03111000"}), unknowable=False
    )
    assert found.verdicts["psc"].unknowable


@pytest.mark.parametrize("line", [[], {"text": "Road"}, {"text": 1, "source": "", "systems": 2}])
def test_other_files_are_refused(tmp_path: Path, line: Any) -> None:
    with pytest.raises(InputError, match="holds no judged notices"):
        read_judged(written(tmp_path / "j.jsonl.gz", line))


def test_the_verdicts_on_other_sources_say_how_often_a_code_is_accepted() -> None:
    codes = np.array([["45233140", "45000000"], ["45233140", "90910000"], ["45233140", "4500000"]])
    judged = [
        Judgement("", source, {"cpv": Verdict(frozenset(row[:1]), frozenset(row[1:]), False)})
        for source, row in zip(("one", "two", "two"), codes.tolist(), strict=True)
    ]
    lessons = Lessons.of("cpv", np.zeros((3, 2, TRAITS), np.float32), codes, judged)
    everything = np.ones(3, np.bool_)
    asked = np.array(["45233140", "45233140", "45239999", "90910000", "03111000"])
    unknown = lessons.rates(everything, asked)
    assert (unknown[0] > unknown[2]).all() or unknown[0, 0] == unknown[2, 0]
    assert unknown[0, 2] > unknown[2, 2] > unknown[4, 2] > unknown[3, 2], "the nearer, the more"
    own = lessons.rates(everything, asked[:2], np.array([0, 1]))
    assert unknown[0, 2] > own[0, 2] > own[1, 2], "two verdicts of others, then one"
    assert lessons.rates(everything & False, asked)[:, 0] == pytest.approx(np.zeros(5))


def test_a_description_counts_less_than_a_notice() -> None:
    verdicts: dict[System, Verdict] = {
        "cpv": Verdict(frozenset({"45233140"}), frozenset({"03111000"}), unknowable=False)
    }
    codes = np.array([["45233140", "03111000", "90910000"]] * 2)
    judged = [Judgement("", "", verdicts), Judgement("", "", verdicts, is_notice=False)]
    lessons = Lessons.of("cpv", np.zeros((2, 3, TRAITS), np.float32), codes, judged)
    notice, description = lessons.weights
    assert notice.tolist() == [1.0, 1.0, 0.3]
    assert description == pytest.approx(0.6 * notice)


def test_the_figures_are_those_of_notices() -> None:
    refused = [
        replace(each, source="writer", verdicts={"cpv": replace(NO_VERDICT, unknowable=False)})
        for each in judgements(60, 6)
    ]
    other = [replace(each, verdicts={"psc": NO_VERDICT}) for each in refused]
    written = [replace(each, is_notice=False) for each in refused + other]
    cosines = np.zeros((90 + len(written), 3), np.float32)
    _, figures = judged_anew([*written, *judgements(90, 5)], cosines)
    assert figures["texts"] == 90
    assert figures["accepted"] > 0.5


RANDOM = np.random.default_rng(0)
ROWS = RANDOM.normal(size=(4_000, 6)).astype(np.float32)
EVEN = np.ones(len(ROWS))


def test_trees_learn_a_rule_that_no_single_column_tells() -> None:
    right = (ROWS[:, 1] > 0) ^ (ROWS[:, 4] > 0.3)
    trees = boosted(ROWS[:3_000], right[:3_000], EVEN[:3_000])
    said = trees.odds(ROWS[3_000:]) > 0
    assert (said == right[3_000:]).mean() > 0.9
    again = boosted(ROWS[:3_000], right[:3_000], EVEN[:3_000])
    assert again.leaves.tolist() == trees.leaves.tolist()


def test_the_odds_are_those_of_the_outcome() -> None:
    right = RANDOM.random(len(ROWS)) < np.where(ROWS[:, 2] > 0, 0.8, 0.1)
    alike = ROWS[:, [2] * 6]  # so that every tree sees the column that counts
    chances = probability(boosted(alike, right, EVEN).odds(alike))
    assert chances[ROWS[:, 2] > 0.1].mean() == pytest.approx(0.8, abs=0.03)
    assert chances[ROWS[:, 2] < -0.1].mean() == pytest.approx(0.1, abs=0.03)


def test_rows_of_little_weight_teach_little() -> None:
    up = ROWS[:, 3] > 0
    right = np.concatenate([up[:2_000], ~up[2_000:]])
    weights = np.repeat([1.0, 0.01], 2_000)
    assert ((boosted(ROWS, right, weights).odds(ROWS) > 0) == up).mean() > 0.95


def test_columns_that_are_constant_say_nothing() -> None:
    same = np.ones((100, 3), np.float32)
    right = np.arange(100) % 4 == 0
    odds = boosted(same, right, np.ones(100)).odds(same)
    assert probability(odds) == pytest.approx(np.full(100, 0.25), abs=0.01)
