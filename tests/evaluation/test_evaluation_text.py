from __future__ import annotations

import json
from collections import Counter

from pipeline.evaluation.dataset import LeftOut
from pipeline.evaluation.phrases import left_out_lines
from tests.evaluation.labels import answer, evaluation, scored
from tests.evaluation.samples import ONE, TWO


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
    assert len(one["curve"]) == 100
    assert one["headline"]["specific"]["hits"] == 2
    assert one["answer_levels"]["division"] == 3
    assert one["worst_source"] is None
    assert found["comparison"]["flips"]["changed"] == 8
    first = found["comparison"]["differences"][0]
    assert (first["depth"], first["top"]) == ("full code", 1)
    assert (first["a_alone"], first["b_alone"]) == (2, 1)
    assert found["comparison"]["better"] is None
    assert found["verdict"] == evaluation(ONE, TWO).verdict


def test_the_worst_source_is_named_if_it_has_enough_rows() -> None:
    right, wrong = answer("45000000", confidence=0.9), answer("39000000", confidence=0.9)
    answers = [right] * 250 + [wrong] * 200 + [wrong]
    scores = scored(answers, ["45000000"] * 451, sources=["x"] * 250 + ["y"] * 200 + ["z"])
    said = str(evaluation(("engine", scores)))
    assert "off by 0.900 for y (200 rows), the worst source with 200 rows or more" in said
