"""Bars of shares, and the rows that reach an accuracy."""

from __future__ import annotations

from itertools import pairwise
from xml.etree.ElementTree import Element, fromstring

from pipeline.charts import Bar, Taken, bars, most_taken


def drawing(*bars_of_a_group: Bar, labels: tuple[str, ...]) -> Element:
    groups = {label: list(bars_of_a_group) for label in labels}
    columns = ("first", "5", "10")
    return fromstring(bars(groups, columns, title="Levels", description="Figures."))


def floats(element: Element, *names: str) -> list[float]:
    return [float(element.attrib[name]) for name in names]


def test_a_bar_is_as_long_as_its_share_and_its_interval_is_over_it() -> None:
    bar = Bar("a", (0.25, 0.5, 1.0), ("25 %", "50 %", "100 %"), (0.2, 0.3))
    svg = drawing(bar, labels=("full",))
    lengths = {
        rect.attrib["class"]: floats(rect, "width")[0]
        for rect in svg.iter("rect")
        if "class" in rect.attrib
    }
    assert lengths == {"light": 508, "mid": 254, "fill": 127}
    (path,) = (each.attrib["d"] for each in svg.iter("path") if each.attrib["class"] == "whisker")
    assert path.startswith(f"M{132 + 508 * 0.2:.1f},") and f"H{132 + 508 * 0.3:.1f}" in path
    assert [each.text for each in svg.iter("text") if each.attrib.get("class") == "value"] == [
        "25 %"
    ]


def test_bars_do_not_meet_and_lie_within_the_drawing() -> None:
    svg = drawing(*[Bar("a", (0.1, 0.2, 1.0), ("",) * 3, (0.0, 1.0))] * 2, labels=("one", "two"))
    edges = [floats(rect, "x", "y", "width", "height") for rect in svg.iter("rect")]
    _, _, width, height = map(float, svg.attrib["viewBox"].split())
    assert all(x + long <= width and y + high <= height for x, y, long, high in edges)
    fills = [
        edge
        for edge, rect in zip(edges, svg.iter("rect"), strict=True)
        if rect.attrib["class"] == "fill"
    ]
    for (_, y, _, high), (_, following, _, _) in pairwise(fills):
        assert y + high < following


def test_the_largest_part_that_reaches_an_accuracy_goes_through() -> None:
    points = [Taken(10, 0.92, 0.9), Taken(20, 0.85, 0.7), Taken(30, 0.86, 0.6), Taken(40, 0.5, 0.1)]
    found = [most_taken(points, wanted) for wanted in (0.95, 0.9, 0.85, 0.5)]
    assert found == [None, points[0], points[2], points[3]]
