"""The rows that reach an accuracy."""

from __future__ import annotations

from pipeline.pages import Taken, most_taken


def test_the_largest_part_that_reaches_an_accuracy_goes_through() -> None:
    points = [Taken(10, 0.92, 0.9), Taken(20, 0.85, 0.7), Taken(30, 0.86, 0.6), Taken(40, 0.5, 0.1)]
    found = [most_taken(points, wanted) for wanted in (0.95, 0.9, 0.85, 0.5)]
    assert found == [None, points[0], points[2], points[3]]
