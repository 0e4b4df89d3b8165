"""What is said of a model that was trained."""

from __future__ import annotations

from pathlib import Path

from pipeline.training.trained_model import model_summary

FIGURES = {
    "system": "psc",
    "learned_rows": 10,
    "codes_from_examples": 3,
    "codes": 4,
    "weight_of_the_history": 1.0,
    "held_back": {
        "rows": 5,
        "repeats": 0,
        "right": {"1": 0.5, "5": 0.6, "10": 0.7},
        "calibration_error": 0.01,
        "flips": {"changed": 0.1, "better": 0.02, "worse": 0.05},
    },
}


def test_one_row_is_not_called_rows() -> None:
    figures = {**FIGURES, "learned_rows": 1, "codes_from_examples": 1}
    figures["held_back"] = {**FIGURES["held_back"], "rows": 1}  # type: ignore[dict-item]
    first, held_back, right, *_ = model_summary(figures, Path("m")).splitlines()
    assert first == "psc: learned 1 row with 1 code, can answer with 4"
    assert held_back.startswith("  held back 1 row;")
    assert right.endswith("; calibration error 0.010")  # as evaluate calls it


def test_a_recipe_may_hold_back_rows_that_the_package_learned() -> None:
    of_history = model_summary(FIGURES, Path("m")).splitlines()
    *lines, warning, last = model_summary({"psc": FIGURES}, Path("m")).splitlines()
    assert [*lines, last] == of_history
    assert "they look better in this comparison" in warning
