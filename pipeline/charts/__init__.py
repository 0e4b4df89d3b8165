"""Draws charts as SVG with a text alternative, for the service's pages and evaluation reports.

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
from pipeline.charts.daily import Day, daily

__all__ = [
    "FEWEST",
    "WANTED",
    "Bar",
    "Bin",
    "Day",
    "Ranked",
    "Taken",
    "bars",
    "coverage",
    "daily",
    "environment",
    "most_taken",
    "ranking",
    "reliability",
]
