"""Charts of shares: bars, reliability."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from pipeline.charts import Bar, Bin, Taken, bars, coverage, reliability
from pipeline.charts.bars import Tick, percent_ticks
from tests.charts.drawing import drawing, floats

AXES = ("across", "upward")


def test_a_bar_is_as_long_as_its_share_and_its_interval_is_over_it() -> None:
    rows = {
        "full": [Bar("a", (0.25, 0.5, 1.0), ("25 %", "50 %", "100 %"), (0.2, 0.3))],
        "broad": [Bar("a", (0.5, 0.75, 1.0), ("50 %", "75 %", "100 %"), (0.4, 0.6))],
    }
    svg = drawing(bars(rows, ("first", "5", "10"), title="Levels", description="Figures."))
    lengths = {
        style: [
            floats(rect, "width")[0] for rect in svg.iter("rect") if style in rect.attrib.values()
        ]
        for style in ("light", "mid", "fill")
    }
    assert lengths == {"light": [508, 508], "mid": [254, 381], "fill": [127, 254]}
    paths = [path.attrib["d"] for path in svg.iter("path") if path.attrib["class"] == "whisker"]
    assert paths[0].startswith(f"M{132 + 508 * 0.2:.1f},") and f"H{132 + 508 * 0.3:.1f}" in paths[0]
    assert [each.text for each in svg.iter("text") if each.attrib.get("class") == "value"] == [
        "25 %",
        "50 %",
    ]


def test_two_bars_of_a_group_do_not_meet() -> None:
    bar = Bar("a", (0.1, 0.2, 0.3), ("", "", ""), (0.0, 0.2))
    rows = {label: [bar, bar] for label in ("one", "two")}
    svg = drawing(bars(rows, ("first", "5", "10"), title="Levels", description="Figures."))
    fills = [rect for rect in svg.iter("rect") if rect.attrib["class"] == "fill"]
    edges = [floats(rect, "y", "height") for rect in fills]
    for (y, height), (following, _) in pairwise(edges):
        assert y + height < following


def test_a_dot_is_at_its_confidence_and_share_and_is_larger_for_more_rows() -> None:
    bins = [
        Bin(0.1, 0.15, 0.2, (0.1, 0.3), 4, "few"),
        Bin(0.8, 0.85, 0.9, (0.8, 0.95), 400, "many"),
    ]
    svg = drawing(reliability("a", bins, title="Reliability", axes=AXES))
    few, many = svg.iter("circle")
    assert floats(few, "cx", "cy") == pytest.approx([45, 240])
    assert floats(many, "cx", "cy") == pytest.approx([255, 30])
    assert floats(few, "r") < floats(many, "r")
    counts = [rect for rect in svg.iter("rect") if rect.attrib["class"] == "count"]
    assert [floats(each, "y", "height") for each in counts] == [[353, 1], [308, 46]]
    assert svg.findtext("desc") == "few. many. "


def test_the_largest_part_that_reaches_an_accuracy_goes_through() -> None:
    points = [Taken(10, 0.92, 0.9), Taken(20, 0.85, 0.7), Taken(30, 0.86, 0.6), Taken(40, 0.5, 0.1)]
    table = coverage(points, 40)
    lines = re.findall(r'<th scope="row" class="n">(\d+) %</th>(.*)</tr>', table)
    assert [wanted for wanted, _ in lines] == ["95", "90", "85", "80", "70", "50"]
    cells = {wanted: re.findall(r">([^<>]+)<", line) for wanted, line in lines}
    assert cells["95"] == ["none", "40", "&ndash;"]
    assert cells["90"] == ["10 (25 %)", "30", "0.90"]
    assert cells["80"] == cells["70"] == ["30 (75 %)", "10", "0.60"]
    assert cells["50"] == ["40 (100 %)", "0", "0.10"]


def test_an_axis_of_percent_has_a_tick_for_every_quarter() -> None:
    quarters = [Tick(0, "0"), Tick(50, "25"), Tick(100, "50"), Tick(150, "75"), Tick(200, "100")]
    assert percent_ticks(200) == quarters
