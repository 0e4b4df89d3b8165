"""Subjects and evaluations that several tests compare or draw."""

from __future__ import annotations

from pipeline.evaluation.metrics import Scores
from tests.evaluation.labels import REFUSED, answer, scored


def subject(right: str) -> Scores:
    """Return the scores of a subject that is right where the text has a 1."""
    answers = [answer("45000000" if mark == "1" else "39000000") for mark in right]
    return scored(answers, ["45000000"] * len(right))


TRUTHS = [
    "45233140",
    "45233140",
    "45000000",
    "45000000",
    "39112000",
    "39112000",
    "90910000",
    "90910000",
    "03111000",
    "03111000",
]
ANSWERS = [
    answer("45233140", confidence=0.95),  # right in full
    answer("45233000", "45233140", confidence=0.85),  # second; right as a category
    answer("45233140", confidence=0.75),  # right as far as stated
    answer("45000000", confidence=0.65),  # right in full
    answer("39130000", *["39120000"] * 8, "39112000", confidence=0.55),  # tenth; group right
    answer("45000000", confidence=0.45),  # wrong
    answer("90910000", confidence=0.35),  # right in full
    answer(),  # no match
    REFUSED,  # no answer
    answer("45000000", confidence=0.05),  # wrong
]

ONE = ("embedded engine", scored(ANSWERS, TRUTHS, "aaaabbbbcc"))
TWO = ("model mine", scored([answer("45233140", confidence=0.9)] * 10, TRUTHS, "aaaabbbbcc"))
