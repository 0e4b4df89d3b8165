"""What is said of a model that was trained."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pipeline.training.run import model_summary

HELD_BACK = {
    "rows": 40,
    "repeats": 0,
    "right": {"1": 0.5, "5": 0.6, "10": 0.7},
    "broad": 0.8,
    "ok": {"confidence": 0.4123, "rows": 0.25, "right": 0.8, "right_at_least": 0.67},
    "calibration_error": 0.01,
    "flips": {"changed": 0.1, "better": 0.02, "worse": 0.05},
}

FIGURES = {
    "system": "psc",
    "learned_rows": 10,
    "codes_from_examples": 3,
    "codes": 4,
    "weight_of_the_history": 1.0,
    "held_back": HELD_BACK,
}


def test_one_row_is_not_called_rows() -> None:
    figures: Any = {**FIGURES, "learned_rows": 1, "codes_from_examples": 1}
    figures["held_back"] = {**HELD_BACK, "rows": 1, "right": {"1": 0.0, "5": 0.0, "10": 1.0}}
    first, held_back, right, *_ = model_summary(figures, Path("m")).splitlines()
    assert first == "psc: learned 1 row with 1 code, can answer with 4"
    assert held_back.startswith("  held back 1 row;")
    assert (
        right
        == "  right code first: 0 of 1, among 5: 0 of 1, among 10: 1 of 1; right group: 1 of 1"
    )
    right = model_summary(FIGURES, Path("m")).splitlines()[2]
    assert "among 10: 70 %; right group: 80 %; " in right
    assert right.endswith("; calibration error 0.010")  # as evaluate calls it


def test_it_says_from_which_confidence_codes_are_ok_or_that_none_will_be() -> None:
    line = model_summary(FIGURES, Path("m")).splitlines()[3]
    assert line == (
        "  `ok` from a confidence of 0.41: 25 % of these rows, 80 % of them right as far as stated"
    )
    figures: Any = {**FIGURES, "held_back": {**HELD_BACK, "ok": {"confidence": None}}}
    line = model_summary(figures, Path("m")).splitlines()[3]
    assert line.startswith("  no code will be `ok`: the held-back rows do not show")
    assert line.endswith("train on more rows, or run with --min-confidence")
