"""What becomes of answers as they are written: rolled up, translated and counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from math import inf
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import pipeline
from pipeline.answers import (
    OK_FROM,
    SYSTEMS,
    Answer,
    Explained,
    Failed,
    Match,
    Matched,
    Pending,
    System,
)
from pipeline.classification.columns import never_ok, new_columns, review_under
from pipeline.classification.write import RollUp, RowCounts, roll_ups, translations
from pipeline.codes import load
from pipeline.engine.model import model_folder, save
from pipeline.settings import Settings
from tests.engine.model.training_data import taught


def matched(*pairs: tuple[str, float]) -> Matched:
    return Matched(tuple(Match(code, f"title of {code}", sure) for code, sure in pairs))


def given(system: System, sure: float, *pairs: tuple[str, float]) -> tuple[str, float]:
    """Return the code that is given and its confidence."""
    answer = RollUp(load(system), sure).answer(matched(*pairs))
    assert isinstance(answer, Matched)
    best = answer.matches[0]
    return best.code, best.confidence


@pytest.mark.parametrize(
    ("system", "pairs", "expected"),
    [
        ("cpv", [("45233140", 0.5), ("45233141", 0.3)], ("45233140", 0.8)),
        ("cpv", [("45233140", 0.5), ("45233220", 0.3)], ("45233000", 0.8)),
        ("cpv", [("45233140", 0.5), ("45233000", 0.3)], ("45233000", 0.8)),
        ("cpv", [("45233140", 0.5), ("45231000", 0.3)], ("45230000", 0.8)),
        ("cpv", [("45233140", 0.5), ("45400000", 0.3)], ("45000000", 0.8)),
        ("psc", [("J015", 0.5), ("J016", 0.3)], ("J0", 0.8)),
        ("psc", [("J015", 0.5), ("J016", 0.1), ("J099", 0.2)], ("J0", 0.8)),
        ("psc", [("R425", 0.5), ("R710", 0.3)], ("R", 0.8)),
        ("psc", [("7110", 0.5), ("7125", 0.3)], ("71", 0.8)),
        ("naics", [("237310", 0.5), ("237110", 0.3)], ("237", 0.8)),
        ("naics", [("311111", 0.5), ("332111", 0.3)], ("31-33", 0.8)),
        ("unspsc", [("44103103", 0.5), ("44103105", 0.3)], ("44103100", 0.8)),
        ("unspsc", [("44103100", 0.5), ("44110000", 0.3)], ("44000000", 0.8)),
    ],
)
def test_the_deepest_code_that_is_sure_enough_is_given(
    system: System, pairs: list[tuple[str, float]], expected: tuple[str, float]
) -> None:
    assert given(system, 0.8, *pairs) == expected


def test_a_title_comes_from_the_table_and_the_matches_follow_the_code() -> None:
    doubtful = matched(("45233140", 0.5), ("45233000", 0.2), ("45233220", 0.1))
    answer = RollUp(load("cpv"), 0.8).answer(doubtful)
    assert isinstance(answer, Matched)
    title = load("cpv").titles["45233000"]
    assert answer.matches == (
        Match("45233000", title, 0.8),
        doubtful.matches[0],
        doubtful.matches[2],
    )


@pytest.mark.parametrize(
    "answer",
    [
        matched(("45233140", 0.8), ("45233141", 0.2)),
        matched(("45233140", 0.4), ("33140000", 0.3)),
        matched(("not a code", 0.5), ("", 0.5)),
        Matched(()),
        Failed("VALIDATION_ERROR"),
        Pending(),
        None,
    ],
)
def test_what_is_sure_or_cannot_become_so_stays_as_it_is(answer: Answer | None) -> None:
    assert RollUp(load("cpv"), 0.8).answer(answer) is answer


def test_what_was_paid_and_the_words_for_the_best_match_are_kept() -> None:
    (road, *_) = matched(("45233140", 0.5)).matches
    paid = Decimal("0.000105")
    answer = RollUp(load("cpv"), 0.3).answer(
        Explained((replace(road, confidence=0.2),) * 2, paid, why="asphalt")
    )
    assert answer == Explained(
        (Match("45233140", load("cpv").titles["45233140"], 0.4),), paid, why="asphalt"
    )


def test_confidences_of_a_service_may_be_anything() -> None:
    assert given("cpv", 0.8, ("45233140", 0.7), ("45233220", 0.7)) == ("45233000", 1.0)
    assert given("cpv", 0.8, ("45233140", 95.0)) == ("45233140", 95.0)
    assert given("cpv", 0.8, ("45233140", 0.5), ("45233220", 0.4), ("45231000", -9.0)) == (
        "45233000",
        0.9,
    )


@pytest.mark.parametrize(
    ("written", "expected"),
    [("45233140-2", "45233140"), (" 45233140", "45233140"), ("45233149", "45233140")],
)
def test_codes_that_the_table_writes_differently_or_lacks_count_for_those_above(
    written: str, expected: str
) -> None:
    """45233149 does not exist."""
    assert given("cpv", 0.8, (written, 0.5), ("45233141", 0.4)) == (expected, 0.9)


def test_of_two_codes_that_are_sure_enough_on_a_level_the_surer_is_given() -> None:
    pairs = [("45233140", 0.1), ("33141000", 0.1), ("33141110", 0.1), ("45112000", 0.05)]
    assert given("cpv", 0.15, *pairs) == ("33141000", 0.2)


def test_a_sum_that_is_a_rounding_error_short_is_enough() -> None:
    assert 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 + 0.1 < 0.8
    codes = [f"4523311{digit}" for digit in range(8)]
    assert given("cpv", 0.8, *((code, 0.1) for code in codes)) == ("45233110", 0.8)


def test_without_roll_up_no_answer_changes() -> None:
    assert not roll_ups(Settings(systems=("cpv",)))


def test_roll_up_asks_for_enough_matches_whatever_top_says() -> None:
    assert Settings(top=3).matches_wanted == 3
    assert Settings(top=3, roll_up=0.8).matches_wanted == 20


ROADS = Match("45233140", "Roadworks", 0.9)


def test_only_the_titles_of_cpv_codes_change() -> None:
    unknown, with_check_digit = Match("99999999", "Odd", 0.1), Match("45000000-7", "Works", 0.2)
    answers = (
        Explained((ROADS, unknown, with_check_digit), Decimal(1), why="road"),
        Failed("VALIDATION_ERROR"),
        Pending(),
        Matched(()),
        None,
    )
    changed = translations(Settings(systems=("cpv", "psc"), language="de"))
    first, *others = map(changed["cpv"], answers)
    assert isinstance(first, Explained)
    assert [match.title for match in first.matches] == ["Straßenarbeiten", "Odd", "Bauarbeiten"]
    assert [match.code for match in first.matches] == ["45233140", "99999999", "45000000-7"]
    assert (first.cost_usd, first.why) == (Decimal(1), "road")
    assert others == list(answers[1:])
    assert "psc" not in changed


def test_english_changes_nothing() -> None:
    assert not translations(Settings(systems=("cpv",)))
    assert not translations(Settings(systems=("psc",), language="de"))


ANSWERS: Sequence[Sequence[Answer | None]] = [
    [matched(("1", 0.99)), None, matched(("1", 0.2)), Failed("VALIDATION_ERROR", Decimal("0.25"))],
    [Pending(None), Matched(()), Matched((), Decimal("0.10")), matched(("1", float("nan")))],
]


def test_the_figures_of_rows_add_up() -> None:
    settings = Settings(systems=("cpv", "psc"))
    tally = RowCounts.of(settings.systems)
    for answers in [*ANSWERS, *ANSWERS]:
        tally.add(new_columns(settings, {"cpv": answers, "psc": answers[::-1]}))
    assert tally.rows == 16
    assert (tally.cost_usd, tally.to_check) == (Decimal("1.40"), 12)
    cpv = tally.systems["cpv"]
    assert cpv.statuses == {
        "ok": 4,
        "empty": 2,
        "review": 2,
        "VALIDATION_ERROR": 2,
        "pending": 2,
        "no_match": 4,
    }
    assert cpv.cost_usd == Decimal("0.70")
    assert cpv.confidences == {99: 2, 20: 2}


def test_what_is_sure_enough_is_measured_for_the_engine_and_given_for_a_service() -> None:
    assert [review_under(Settings(), system) for system in SYSTEMS] == [*OK_FROM.values()]
    assert set(OK_FROM) == set(SYSTEMS)
    assert review_under(Settings(min_confidence=0), "psc") == 0
    assert review_under(Settings(roll_up=0.9), "cpv") == 0.9
    assert review_under(Settings(roll_up=0.2, min_confidence=0.5), "cpv") == 0.5
    assert review_under(Settings().for_service(), "psc") == 0
    assert review_under(Settings(min_confidence=0.3).for_service(), "psc") == 0.3


@pytest.mark.parametrize(
    ("ok", "under"),
    [
        ({"confidence": 0.61, "right_at_least": 0.67}, 0.61),
        ({"confidence": None, "right_at_least": 0.0}, inf),
        ({"confidence": 0.97, "rows": 0.02, "right": 0.3}, inf),  # of a version without evidence
        ({"confidence": 5, "right_at_least": 0.67}, inf),
        (None, inf),
    ],
)
@pytest.mark.parametrize("of_recipe", [True, False])
def test_a_learned_model_has_the_threshold_that_its_held_out_rows_showed(
    tmp_path: Path, ok: Mapping[str, Any] | None, under: float, of_recipe: bool
) -> None:
    about = {"held_back": {"ok": ok}}
    save([taught().model], tmp_path / "m", {"cpv": about} if of_recipe else about)
    model = model_folder(tmp_path / "m")
    settings = Settings(models={str(model.path): model.sha256})
    assert review_under(settings, "cpv") == under
    assert review_under(settings, "psc") == OK_FROM["psc"]  # the package's model answers
    warnings = [*never_ok(settings)]
    assert [line.partition(":")[0] for line in warnings] == ["No cpv code will be ok"] * (
        under == inf
    )
    chosen = Settings(models=settings.models, min_confidence=0.4)
    assert review_under(chosen, "cpv") == 0.4
    assert not [*never_ok(chosen)]


def test_a_run_and_a_plan_say_before_the_work_that_nothing_will_be_ok(tmp_path: Path) -> None:
    save([taught().model], tmp_path / "m", {})
    options: dict[str, Any] = {"systems": "cpv", "models": tmp_path / "m"}
    texts = ["wheat grain barley", "paving of a road"]
    with pytest.warns(UserWarning, match=r"No cpv code will be ok: .*: min_confidence\.$"):
        found = pipeline.classify(texts, **options)
    assert found.table["cpv_status"].to_pylist() == ["review", "review"]
    with pytest.warns(UserWarning, match="No cpv code will be ok"):
        pipeline.plan(texts, **options)
    found = pipeline.classify(texts, **options, min_confidence=0.2)
    assert found.table["cpv_status"].to_pylist() == ["ok", "ok"]
