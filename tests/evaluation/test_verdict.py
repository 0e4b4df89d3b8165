from __future__ import annotations

from decimal import Decimal

import pytest

from pipeline.codes import load
from pipeline.evaluation.measuring import figures
from pipeline.evaluation.phrases import threshold_sentence, verdict
from pipeline.evaluation.significance import compare
from tests.evaluation.labels import answer, scored
from tests.evaluation.samples import subject

NAMES = ["embedded engine", "https://service.example"]


def said(a: str, b: str, usd: str | None = None) -> str:
    one, other = subject(a), subject(b)
    price = None if usd is None else Decimal(usd)
    comparison = compare(one, other, price, usd and "b")  # type: ignore[arg-type]
    codes = load("cpv")
    return verdict(NAMES, [figures(one, codes), figures(other, codes)], comparison)


def test_the_verdict_on_one_subject_has_its_first_code_its_first_ten_and_the_division() -> None:
    found = figures(subject("1100"), load("cpv"))
    assert verdict(NAMES[:1], [found], None) == (
        "Embedded engine gives the right code first for 2 of 4 rows, has it among its first "
        "ten for 2 of 4, and gives the right division for 2 of 4."
    )


def test_general_codes_are_judged_by_three_figures() -> None:
    labels = ["45000000", "45233140", "45233140", "39112000"]
    answers = [answer("45233140"), answer("45233140"), answer("45000000"), answer()]
    assert verdict(NAMES[:1], [figures(scored(answers, labels), load("cpv"))], None) == (
        "Embedded engine is exactly right for 1 of 3 rows whose label is deeper than a "
        "division, and right as far as the label states for 2 of 4 rows; the division is "
        "right for 3 of 4, and the full code is among the first ten for 1 of 4; 1 of 3 codes are a "
        "bare division."
    )


def test_the_share_of_bare_divisions_is_left_out_if_there_are_none() -> None:
    labels, answers = ["45000000", "45233140"], [answer("45233140"), answer("45233140")]
    told = verdict(NAMES[:1], [figures(scored(answers, labels), load("cpv"))], None)
    assert "right as far as the label states for 2 of 2 rows; the division" in told
    assert "bare" not in told


def test_the_better_one_is_named_with_the_interval_and_the_test() -> None:
    told = said("1" * 10 + "0" * 30, "1" * 30 + "0" * 10, "0.006")
    assert told.startswith("https://service.example is better than embedded engine: it gives")
    assert "for 75.0 % instead of 25.0 % of the same 40 rows" in told
    assert "a difference of 50.0 points (95 % interval 31.8 to 63.4, p < 0.0001)." in told
    assert told.endswith(
        "Each additional right code costs 0.0003 USD; all paid answers cost 0.006 USD."
    )


def test_the_interval_has_the_direction_of_the_sentence() -> None:
    told = said("1" * 30 + "0" * 10, "1" * 10 + "0" * 30, "0.006")
    assert told.startswith("Embedded engine is better than https://service.example")
    assert "a difference of 50.0 points (95 % interval 31.8 to 63.4, p < 0.0001)." in told
    assert told.endswith("The paid answers cost 0.006 USD and brought no additional right code.")


def test_what_may_be_chance_is_called_so() -> None:
    told = said("1100", "1110", "0.004")
    assert "is not significant: 25.0 points on the same 4 rows may be" in told
    assert told.endswith(
        "If the difference is real, each additional right code costs about 0.004 USD."
    )


def test_subjects_that_never_differ_are_equal() -> None:
    assert "neither is better" in said("1100", "1100")


@pytest.mark.parametrize("a", ["1100", "0000"])
def test_without_a_price_none_is_stated(a: str) -> None:
    assert "USD" not in said(a, "1110")


def test_too_few_or_too_poor_codes_have_no_threshold() -> None:
    few, poor = (figures(subject(right), load("cpv")) for right in ("1" * 9, "1" + "0" * 29))
    assert threshold_sentence(figures(subject("1" * 19), load("cpv"))).startswith("19 rows cannot")
    said = "9 rows cannot show from which confidence rows can go through."
    assert threshold_sentence(few) == said
    assert threshold_sentence(poor).endswith("half of the codes are right: look at every row.")
