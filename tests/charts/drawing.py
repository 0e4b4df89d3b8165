"""Reads charts."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, fromstring

__all__ = ["drawing", "floats"]


def drawing(chart: str) -> Element:
    """Return the drawing with a text alternative; there is one in a chart."""
    found = [fromstring(each) for each in re.findall(r"<svg.*?</svg>", chart, re.S)]
    (svg,) = (each for each in found if each.attrib.get("role") == "img")
    title, description = (svg.find(name) for name in ("title", "desc"))
    assert title is not None and title.text
    assert description is not None and description.text
    ids = [title.attrib["id"], description.attrib["id"]]
    assert svg.attrib["aria-labelledby"].split() == ids
    return svg


def floats(element: Element, *names: str) -> list[float]:
    """Return attributes as numbers, percentages as theirs."""
    return [float(element.attrib[name].rstrip("%")) for name in names]
