"""Reads charts."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, fromstring

__all__ = ["drawing", "floats"]

ROUNDED = 0.02
"""How far the last of many places may be off that are rounded to hundredths."""


def drawing(chart: str) -> Element:
    """Return the drawing with a text alternative; a chart has one, which shows all of it."""
    found = [fromstring(each) for each in re.findall(r"<svg.*?</svg>", chart, re.S)]
    (svg,) = (each for each in found if each.attrib.get("role") == "img")
    title, description = (svg.find(name) for name in ("title", "desc"))
    assert title is not None and title.text
    assert description is not None and description.text
    ids = [title.attrib["id"], description.attrib["id"]]
    assert svg.attrib["aria-labelledby"].split() == ids
    _check_within(svg)
    return svg


def floats(element: Element, *names: str) -> list[float]:
    """Return attributes as numbers."""
    return [float(element.attrib[name]) for name in names]


def _check_within(svg: Element) -> None:
    """Check that nothing is drawn outside of the drawing."""
    left, top, width, height = map(float, svg.attrib["viewBox"].split())
    for element in list(svg.iter())[1:]:
        for start, length, names, size in (
            (left, width, ("x", "x1", "x2", "cx"), "width"),
            (top, height, ("y", "y1", "y2", "cy"), "height"),
        ):
            for place in floats(element, *(name for name in names if name in element.attrib)):
                end = place + sum(floats(element, *({size} & element.attrib.keys())))
                assert start <= place <= end <= start + length + ROUNDED, element.attrib
