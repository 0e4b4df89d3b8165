"""The figures of rows with labels, and of rows that people decided, worked out by hand."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import pytest

import pipeline
from pipeline.answers import System
from pipeline.codes import load
from pipeline.decisions.decision_file import Decision
from pipeline.evaluation.metrics import (
    EXACT,
    STATED,
    Scores,
    Share,
    broad,
    depths,
    figures,
    measured_depth,
    shown_depths,
)
from pipeline.evaluation.sections import ACCEPTANCE
from tests.decisions.samples import chose, nothing_fits, write
from tests.evaluation.labels import ANSWERS, TRUTHS, answer, evaluation, scored

TEN = scored(ANSWERS, TRUTHS, "aaaabbbbcc")
FOUND = figures(TEN, load("cpv"))


def test_right_codes_are_counted_at_every_depth() -> None:
    hits = {depth.name: [each.hits for each in top.values()] for depth, top in FOUND.depths.items()}
    assert hits == {
        "full code": [3, 4, 5],
        "as far as stated": [4, 5, 6],
        "category": [4, 4, 5],
        "class": [4, 4, 5],
        "group": [5, 5, 5],
        "division": [6, 6, 6],
    }


def test_rows_without_an_answer_are_counted_and_wrong() -> None:
    assert FOUND.unanswered.hits == 2
    assert FOUND.statuses == {"ok": 8, "no_match": 1, "VALIDATION_ERROR": 1}


def test_the_calibration_error_is_the_mean_gap_of_the_tenths() -> None:
    gaps = [0.05, 0.65, 0.45, 0.55, 0.35, 0.75, 0.85, 0.05]
    assert FOUND.calibration_error == pytest.approx(sum(gaps) / 10)
    lowest, highest = FOUND.bins[0], FOUND.bins[-1]
    assert (lowest.low, lowest.high, highest.low, highest.high) == (0.0, 0.1, 0.9, 1.0)
    assert (lowest.right.rows, lowest.right.hits) == (3, 0)
    assert lowest.confidence == pytest.approx(0.05 / 3)
    assert (highest.right.rows, highest.right.hits, highest.confidence) == (1, 1, 0.95)
    assert FOUND.bins[1].confidence is None


def test_confusions_are_those_of_rows_that_are_wrong_as_far_as_stated() -> None:
    full = [(pair.truth, pair.answer, pair.rows) for pair in FOUND.confused["full code"]]
    assert full == [
        ("03111000", "45000000", 1),
        ("39112000", "39130000", 1),
        ("39112000", "45000000", 1),
        ("45233140", "45233000", 1),
    ]
    broad = [(pair.truth, pair.answer, pair.rows) for pair in FOUND.confused["division"]]
    assert broad == [("03000000", "45000000", 1), ("39000000", "45000000", 1)]
    first = FOUND.confused["division"][0]
    assert first.answer_title == "Construction work"


def test_a_code_that_no_table_has_is_called_as_the_subject_calls_it() -> None:
    found = figures(scored([answer("98999999")], ["45000000"]), load("cpv"))
    assert found.confused["full code"][0].answer_title == "Title of 98999999"


def test_sources_are_listed_apart_those_with_most_rows_first() -> None:
    assert [(each.name, each.broad.rows) for each in FOUND.sources] == [
        ("a", 4),
        ("b", 4),
        ("c", 2),
    ]
    a, b, c = FOUND.sources
    assert [a.top[1].hits, b.top[1].hits, c.top[1].hits] == [2, 1, 0]
    assert [a.broad.hits, b.broad.hits, c.broad.hits] == [4, 2, 0]
    assert a.confidence == pytest.approx(0.8)


def test_specific_and_bare_codes_are_counted_in_systems_with_general_codes() -> None:
    assert (FOUND.specific, FOUND.bare) == (Share(2, 8), Share(3, 8))
    codes: dict[System, list[str]] = {
        "unspsc": ["72000000", "72101500"],
        "psc": ["Y1LB"],
        "naics": ["236220"],
    }
    found = {
        system: figures(scored([*map(answer, some[::-1])], some, system=system), load(system))
        for system, some in codes.items()
    }
    assert (found["unspsc"].specific, found["unspsc"].bare) == (Share(0, 1), Share(1, 2))
    assert {found[system].specific for system in ("psc", "naics")} == {None}


def test_it_says_what_the_confidence_of_the_engine_is_beside_codes_of_buyers() -> None:
    assert ACCEPTANCE in str(evaluation(("engine", scored(ANSWERS * 2, TRUTHS * 2))))


def test_long_texts_in_place_of_sources_take_no_memory_for_each_row() -> None:
    sources = ["x" * 1_000_000, *("a" for _ in range(99))]
    scores = scored([answer("45000000")] * 100, ["45000000"] * 100, sources=sources)
    tracemalloc.start()
    found = figures(scores, load("cpv"))
    assert [each.broad.rows for each in found.sources] == [99, 1]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 50_000_000


def test_a_confidence_that_is_not_a_fraction_is_clipped_and_counted() -> None:
    answers = [answer("45000000", confidence=87.0), answer("45000000", confidence=-1.0)]
    found = figures(scored(answers, ["45000000"] * 2), load("cpv"))
    assert found.odd_confidences == 2
    assert found.calibration_error == pytest.approx(0.5)


def test_as_far_as_stated_is_shown_only_where_it_says_more() -> None:
    assert "as far as stated" in [each.name for each in shown_depths(FOUND)]
    full = figures(scored([answer("45233140")], ["45233140"]), load("cpv"))
    assert "as far as stated" not in [each.name for each in shown_depths(full)]


def test_answers_may_have_check_digits() -> None:
    found = figures(scored([answer("45233140-2")], ["45233140"]), load("cpv"))
    assert found.right[1].hits == 1


@pytest.mark.parametrize(
    ("hits", "rows", "low", "high"),
    [
        (82, 200, 0.3442, 0.4792),  # Wilson's score interval, worked out by hand
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (1, 1, 0.2065, 1.0),
        (0, 0, 0.0, 1.0),  # nothing is known
    ],
)
def test_the_interval_is_wilsons(hits: int, rows: int, low: float, high: float) -> None:
    share = Share(hits, rows)
    assert share.interval == pytest.approx((low, high), abs=5e-5)
    assert share.interval[0] <= share.value <= share.interval[1]


@pytest.mark.parametrize(
    ("system", "truth", "answer", "met"),
    [
        ("cpv", "45000000", "45233140", True),
        ("cpv", "45230000", "45233140", True),
        ("cpv", "45233140", "45233000", False),
        ("cpv", "30000000", "30200000", True),
        ("cpv", "30000000", "31000000", False),
        ("unspsc", "43210000", "43211503", True),
        ("unspsc", "43211500", "43211600", False),
        ("naics", "31-33", "325412", True),
        ("naics", "31-33", "221112", False),
        ("naics", "2361", "236115", True),
        ("psc", "J0", "J015", True),
        ("psc", "R408", "R499", False),
    ],
)
def test_a_right_code_is_met_at_the_depth_that_it_states(
    system: System, truth: str, answer: str, met: bool
) -> None:
    assert bool(STATED.rank(system, truth, [answer])) is met


def test_the_full_code_is_met_by_itself_alone() -> None:
    assert EXACT.rank("cpv", "45000000", ["45233140", "45000000", "45000000"]) == 2
    assert EXACT.rank("cpv", "45000000", ["45233140"]) == 0
    assert EXACT.rank("cpv", "45000000", []) == 0


@pytest.mark.parametrize(
    ("system", "names", "level"),
    [
        ("cpv", ["category", "class", "group", "division"], "division"),
        ("psc", ["group", "category"], "group"),
        ("unspsc", ["class", "family", "segment"], "segment"),
        ("naics", ["industry", "industry group", "subsector", "sector"], "sector"),
    ],
)
def test_every_level_above_the_full_code_is_measured(
    system: System, names: list[str], level: str
) -> None:
    assert [depth.name for depth in depths(system)] == ["full code", "as far as stated", *names]
    assert broad(system).name == level


@pytest.mark.parametrize(
    ("system", "bare", "deeper"),
    [
        ("cpv", "45000000", "45200000"),
        ("unspsc", "43000000", "43210000"),
        ("naics", "31-33", "311"),
        ("psc", "R4", "R408"),
    ],
)
def test_codes_are_judged_in_full_if_any_label_is_deeper_than_the_first_level(
    system: System, bare: str, deeper: str
) -> None:
    assert measured_depth(system, [bare, bare]) == STATED
    assert measured_depth(system, [bare, deeper]) == EXACT


DECIDED = [
    chose("a", "45233140"),
    chose("b", "45000000"),
    chose("c", "45233140"),
    nothing_fits("d"),
    chose("e", "45233140", candidates=("45233140", "39000000")),
    chose("f", "45233140"),
]
SHOWN = [
    answer("45233140", confidence=0.9),  # accepted
    answer("45233140", confidence=0.8),  # accepted: it is below the chosen division
    answer("45000000", "45233140", confidence=0.7),  # too general, and second
    answer("39000000", confidence=0.6),  # wrong: no code fits
    answer("03000000", confidence=0.5),  # nobody judged it
    answer(),  # nothing found
]


def judged(decided: Sequence[Decision] = DECIDED) -> Scores:
    scores = Scores("cpv")
    answers = SHOWN[: len(decided)]
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
    scores.add(SHOWN[4:5] * 20, ["45233140"] * 20, [""] * 20, DECIDED[4:5] * 20)  # not judged
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
