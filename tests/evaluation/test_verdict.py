from __future__ import annotations

import json
from collections import Counter
from decimal import Decimal
from math import comb

import pytest

from pipeline.codes import load
from pipeline.evaluation.dataset import LeftOut
from pipeline.evaluation.metrics import EXACT, STATED, figures
from pipeline.evaluation.sections import left_out_lines, threshold_sentence, verdict
from pipeline.evaluation.significance import Comparison, Difference, compare
from tests.evaluation.labels import ONE, TWO, answer, evaluation, scored, subject

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


def test_one_subject_is_printed_as_a_table() -> None:
    lines = str(evaluation(ONE)).splitlines()
    assert lines[0] == "cpv, 10 rows of tenders.csv"
    assert [line.split("  ")[0] for line in lines[1:9]] == [
        "embedded engine",
        "",
        "In short",
        "",
        "exactly right, label deeper than a division",
        "right as far as the label states",
        "full code among the first ten",
        "right division",
    ]
    assert lines[12:14] == [
        "right code          first  95 % interval  among 5  among 10",
        "full code         3 of 10              -  4 of 10   5 of 10",
    ]
    said = "No answer from embedded engine: 2 of 10 (no_match 1, VALIDATION_ERROR 1)."
    assert f"{said} It counts as wrong." in lines
    assert lines[-2:] == evaluation(ONE).conclusions


def test_two_subjects_are_printed_with_their_difference_first() -> None:
    lines = str(evaluation(ONE, TWO)).splitlines()
    assert lines[1:3] == ["A: embedded engine", "B: model mine"]
    full = next(line for line in lines if line.startswith("full code"))
    three, two, ten = ["3", "of", "10"], ["2", "of", "10"], "\N{MINUS SIGN}10.0"
    assert full.split()[2:10] == [*three, *two, ten, "\N{MINUS SIGN}40.7"]


def test_it_says_how_many_codes_of_each_band_are_right_as_far_as_stated() -> None:
    right, wrong = (0.97, 0.5, 0.1), (0.95, 0.2, 85.0)  # nothing is known of a confidence of 85
    answers = [answer("45233140", confidence=each) for each in right]
    answers += [answer("39000000", confidence=each) for each in wrong]
    found = evaluation(("engine", scored(answers, ["45000000"] * len(answers))))
    lines = [line.split() for line in str(found).splitlines()]
    for band, share, rows in (("sure", "1 of 2", "2"), ("likely", "1 of 1", "1")):
        (line,) = (line for line in lines if line[:1] == [band])
        assert (" ".join(line[1:4]), line[-1]) == (share, rows)
    (line,) = (line for line in lines if line[:2] == ["exactly", "right,"])
    assert line[-3:] == ["-", "-", "0"]  # no label is deeper than a division
    bands = json.loads(found.to_json())["subjects"][0]["bands"]
    assert (bands["doubtful"]["hits"], bands["doubtful"]["share"]) == (1, 1 / 3)


def test_no_control_character_of_a_title_reaches_the_terminal() -> None:
    scores = scored([answer("98999999")], ["45000000"])
    scores.titles["98999999"] = "red \x1b[31m\nalert"
    said = str(evaluation(("engine", scores)))
    assert "\x1b" not in said
    assert "red [31m alert" in said


def test_odd_codes_are_counted_and_the_most_frequent_named() -> None:
    unknown = Counter({f"4599999{number}": 20 - number for number in range(9)})
    unknown.update({"98999998": 1, "98999999": 1, "98999990": 1})
    lines = list(left_out_lines(LeftOut(300, 2, 1, Counter({"road": 3}), unknown)))
    assert lines[:3] == [
        "skipped, no text: 2 rows",
        "skipped, no code: 1 row",
        "skipped, malformed code: 3 rows: road (3)",
    ]
    assert lines[3].startswith("not in the code table, judged by level: 147 rows: 45999990")
    assert lines[3].endswith("98999990 (1) and 2 more")


def test_the_json_has_all_figures() -> None:
    found = json.loads(evaluation(ONE, TWO).to_json())
    one, two = found["subjects"]
    assert one["accuracy"]["full code"]["top_1"]["hits"] == 3
    assert one["accuracy"]["division"]["digits"] == 2
    assert (one["failed"], two["failed"]) == (1, 0)
    assert len(one["reliability"]) == 10
    assert [each["accuracy"] for each in one["coverage"]] == [0.95, 0.9, 0.85, 0.8, 0.7, 0.5]
    assert one["headline"]["specific"]["hits"] == 2
    first = found["comparison"]["differences"][0]
    assert first["depth"] == "full code"
    assert (first["a_alone"], first["b_alone"]) == (2, 1)
    assert found["comparison"]["better"] is None
    assert found["verdict"] == evaluation(ONE, TWO).verdict


def differing(only_a: int, only_b: int, rows: int = 200) -> Difference:
    return Difference(EXACT, rows, only_a, only_b)


def comparison(only_a: int, only_b: int, *price: object) -> Comparison:
    return Comparison([differing(only_a, only_b)], *price)  # type: ignore[arg-type]


def test_rows_are_compared_one_by_one() -> None:
    first = compare(subject("1100110"), subject("1010111")).first
    assert (first.depth, first.rows) == (STATED, 7)  # no label is deeper
    assert (first.only_a, first.only_b) == (1, 2)
    assert first.value == pytest.approx(1 / 7)


def test_mcnemars_test_is_exact() -> None:
    # 3 of 15 rows or fewer on one side, or on the other
    tail = sum(comb(15, k) for k in range(4)) / 2**15
    assert differing(3, 12).p == pytest.approx(2 * tail)
    assert differing(12, 3).p == differing(3, 12).p
    assert differing(0, 0).p == 1.0


def test_the_interval_is_that_of_agresti_and_min() -> None:
    low, high = differing(10, 52).interval
    middle, half = 42 / 202, 1.959964 * (63 - 42**2 / 202) ** 0.5 / 202
    assert (low, high) == pytest.approx((middle - half, middle + half))
    assert differing(52, 10).interval == pytest.approx((-high, -low))
    low, high = differing(0, 0, rows=20).interval
    assert low < 0 < high


def test_the_test_decides_which_subject_is_better() -> None:
    assert comparison(2, 12).better == "b"
    assert comparison(12, 2).better == "a"
    assert comparison(4, 8).better is None
    assert comparison(0, 0).better is None


def test_each_additional_right_code_costs_the_price_of_all_answers_over_the_codes_gained() -> None:
    usd = Decimal("0.021")
    assert comparison(10, 52, usd, "b").usd_per_code == Decimal("0.0005")
    assert comparison(52, 10, usd, "a").usd_per_code == Decimal("0.0005")
    assert comparison(52, 10, usd, "b").usd_per_code is None
    assert comparison(10, 10, usd, "b").usd_per_code is None
    assert comparison(10, 52).usd_per_code is None
