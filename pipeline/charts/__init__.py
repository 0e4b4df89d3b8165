"""Draws charts as SVG with a text alternative, for the reports of runs and evaluations.

Charts take numbers and labels. The pages that show them bring the style sheet.
"""

from pipeline.charts.bars import (
    FEWEST,
    WANTED,
    Bar,
    Bin,
    Ranked,
    Taken,
    bars,
    coverage,
    environment,
    most_taken,
    ranking,
    reliability,
)

__all__ = [
    "FEWEST",
    "WANTED",
    "Bar",
    "Bin",
    "Ranked",
    "Taken",
    "bars",
    "coverage",
    "environment",
    "most_taken",
    "ranking",
    "reliability",
]
