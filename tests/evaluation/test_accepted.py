"""Codes compared with what people decided: accepted, too general, wrong, or not judged."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

import pipeline
from pipeline.codes import load
from pipeline.decisions.decision import Decision
from pipeline.evaluation.measuring import figures
from pipeline.evaluation.metrics import Scores
from pipeline.evaluation.sections import ACCEPTANCE
from tests.decisions.samples import chose, nothing_fits, write
from tests.evaluation.labels import answer, evaluation

DECIDED = [
    chose("a", "45233140"),
    chose("b", "45000000"),
    chose("c", "45233140"),
    nothing_fits("d"),
    chose("e", "45233140", candidates=("45233140", "39000000")),
    chose("f", "45233140"),
]
ANSWERS = [
    answer("45233140", confidence=0.9),  # accepted
    answer("45233140", confidence=0.8),  # accepted: it is below the chosen division
    answer("45000000", "45233140", confidence=0.7),  # too general, and second
    answer("39000000", confidence=0.6),  # wrong: no code fits
    answer("03000000", confidence=0.5),  # nobody judged it
    answer(),  # nothing found
]


def judged(decided: Sequence[Decision] = DECIDED) -> Scores:
    scores = Scores("cpv")
    answers = ANSWERS[: len(decided)]
    scores.add(answers, [each.code for each in decided], [""] * len(decided), decided)
    return scores


def test_the_shares_are_of_the_rows_whose_first_code_was_judged() -> None:
    found = figures(judged(), load("cpv"))
    assert found.verdicts is not None
    shares = {name: (share.hits, share.rows) for name, share in found.verdicts.items()}
    assert shares == {"accepted": (2, 5), "general": (1, 5), "wrong": (2, 5), "unjudged": (1, 6)}
    assert [found.right[top].hits for top in (1, 5)] == [2, 3]
    assert found.judged == 5
    assert found.bands["sure"].hits == found.bands["sure"].rows


def test_the_confidence_is_compared_with_the_share_that_is_accepted() -> None:
    scores, decided = Scores("cpv"), [chose("a", "45000000")] * 20
    answers = [answer("45233140", confidence=0.75)] * 15 + [answer("39000000", confidence=0.75)] * 5
    scores.add(answers, ["45000000"] * 20, [""] * 20, decided)
    scores.add(ANSWERS[4:5] * 20, ["45233140"] * 20, [""] * 20, DECIDED[4:5] * 20)  # not judged
    found = figures(scores, load("cpv"))
    assert found.calibration_error == pytest.approx(0)
    assert found.coverage(0.7)["share"] == 1


def test_it_says_what_is_accepted_and_how_many_rows_go_through() -> None:
    scores = Scores("cpv")
    for number in range(20):  # the ten most confident ones are right
        right = answer("45233140" if number < 10 else "39000000", confidence=0.9 - number / 100)
        scores.add([right], ["45233140"], [""], [chose("a", "45233140")])
    lines = str(evaluation(("engine", scores))).splitlines()
    (accepted,) = (line for line in lines if line.startswith("first code accepted"))
    assert accepted.split()[3:5] == ["50.0", "%"]
    (wanted,) = (line for line in lines if line.startswith("85 %"))
    assert wanted.split()[2:] == ["55.0", "%", "11", "0.80"]
    assert ACCEPTANCE not in lines
    assert lines[-1] == (
        "Let rows through from a confidence of 0.80 to have 90 % of their codes accepted: 11 of 20 "
        "rows (55.0 %)."
    )
    assert lines[-2].startswith("Engine: the first code is accepted for 50.0 % of 20 rows, and one")


def test_it_says_how_many_of_the_shown_codes_people_kept(tmp_path: Path) -> None:
    shown = [
        chose("Supply of road salt", "34927100", best="34927100", model="engine"),
        chose("Salt for icy roads", "34927100", best="34927100", model="engine"),
        chose("Gritting of roads", "90630000", best="34927100", model="engine"),
        chose("Winter service", "90630000", model="engine"),  # in place of no code
        nothing_fits("Lot 2", best="45000000", model="engine"),
        chose("Office chairs", "39112000", best="39112000", model="engine", batch="1"),
        chose("Diesel fuel", "09134100"),  # of an expert, to whom no code was shown
    ]
    path = write(tmp_path / "d.jsonl", shown)
    found = pipeline.evaluate(decisions=path, system="cpv")
    said = "People kept 2 of 5 codes, changed 2, and found that no code fits for 1."
    assert said in str(found).splitlines()
    assert said in found.to_html()
    assert "6 rows cannot show from which confidence" in str(found)
    assert json.loads(found.to_json())["review"] == {"kept": 2, "changed": 2, "none_fits": 1}
    assert found.review is not None and found.review.shares["changed"].value == 0.4


def test_a_labelled_table_has_no_verdicts() -> None:
    scores = Scores("cpv")
    scores.add([answer("45233140")], ["45233140"], [""])
    assert json.loads(evaluation(("engine", scores)).to_json())["subjects"][0]["verdicts"] is None


def test_a_file_of_decisions_is_measured_with_the_texts_that_no_code_fits(tmp_path: Path) -> None:
    texts = ["Construction of a primary school", "Office chairs", "Supply of diesel fuel"]
    best = pipeline.classify(texts, systems="cpv").table["cpv_code"].to_pylist()
    decided = [chose(texts[0], best[0]), nothing_fits(texts[1]), chose(texts[2], "45000000")]
    together = chose("Cleaning of offices", "90000000", batch="1")
    path = write(tmp_path / "d.jsonl", [*decided, together])
    found = pipeline.evaluate(decisions=path, system="cpv")
    (subject,) = found.subjects
    assert subject.figures.verdicts is not None
    assert subject.figures.verdicts["accepted"].hits == 1
    assert subject.figures.verdicts["wrong"].hits == 2
    assert found.rows == 3
    assert "people accepted the code" in found.to_html()
    (lines,) = found.coverage(0.5).to_dict("records")
    assert lines["rows"] == 0  # fewer than ten rows show nothing


def test_the_page_says_accepted_where_people_decided() -> None:
    page = evaluation(("engine", judged())).to_html()
    assert "First code accepted" in page
    assert "right as far as stated" not in page
    assert "accepted first" in page
