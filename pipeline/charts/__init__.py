"""Draws charts as SVG with a text alternative, for the service's pages and evaluation reports.

Charts take numbers and labels. The pages that show them bring the style sheet.
"""

from pipeline.charts.bars import Bar, bars
from pipeline.charts.curves import Curve, CurvePoint, curves
from pipeline.charts.daily import Day, daily
from pipeline.charts.reliability import Bin, reliability
from pipeline.charts.tables import FEWEST, WANTED, Ranked, Taken, coverage, most_taken, ranking
from pipeline.charts.templates import environment

__all__ = [
    "FEWEST",
    "WANTED",
    "Bar",
    "Bin",
    "Curve",
    "CurvePoint",
    "Day",
    "Ranked",
    "Taken",
    "bars",
    "coverage",
    "curves",
    "daily",
    "environment",
    "most_taken",
    "ranking",
    "reliability",
]
