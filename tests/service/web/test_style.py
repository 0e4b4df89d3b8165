"""The colours of the style sheet have the contrast that everybody can read and distinguish."""

from __future__ import annotations

import re
from importlib.resources import files
from itertools import combinations

import pytest

from pipeline.answers import SYSTEMS

SHEET = files("pipeline.service.web").joinpath("static/style.css").read_text()

# How colours look without one of the three kinds of cones: Machado, Oliveira and Fernandes,
# "A physiologically-based model for simulation of color vision deficiency" (2009), severity 1.
SEEN = {
    "everybody": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}

Colour = tuple[float, float, float]


def colours(theme: str) -> dict[str, Colour]:
    """Return the colours of a theme as linear light; what the dark one leaves out stays."""
    light, dark = re.findall(
        r":root \{\s*color-scheme.*?\}|:root \{\s*--paper: #1.*?\}", SHEET, re.S
    )
    found: dict[str, Colour] = {}
    for block in (light,) if theme == "light" else (light, dark):
        for name, value in re.findall(r"--([\w-]+): #([0-9a-f]{6});", block):
            red, green, blue = (int(value[place : place + 2], 16) / 255 for place in (0, 2, 4))
            found[name] = (_linear(red), _linear(green), _linear(blue))
    return found


def contrast(one: Colour, other: Colour) -> float:
    """Return the contrast of WCAG 2.2, from 1 to 21."""
    dark, light = sorted(0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in (one, other))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_bars_and_edges_of_fields_stand_out(theme: str) -> None:
    found = colours(theme)
    for name in (*SYSTEMS, "edge", "accent", "bad"):
        assert contrast(found[name], found["card"]) >= 3, name


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("eyes", SEEN)
def test_the_systems_can_be_told_apart(theme: str, eyes: str) -> None:
    found = colours(theme)
    seen = {name: _lab(_through(found[name], eyes)) for name in SYSTEMS}
    for one, other in combinations(SYSTEMS, 2):
        distance = sum((a - b) ** 2 for a, b in zip(seen[one], seen[other], strict=True)) ** 0.5
        assert distance >= 25, (one, other)  # 2.3 is just noticed side by side


def _linear(share: float) -> float:
    return share / 12.92 if share <= 0.04045 else float(((share + 0.055) / 1.055) ** 2.4)


def _through(colour: Colour, eyes: str) -> Colour:
    red, green, blue = (
        min(1.0, max(0.0, sum(a * b for a, b in zip(row, colour, strict=True))))
        for row in SEEN[eyes]
    )
    return red, green, blue


def _lab(colour: Colour) -> Colour:
    """Return a colour in CIELAB, D65."""
    r, g, b = colour
    x = (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047
    y = 0.2126 * r + 0.7152 * g + 0.0722 * b
    z = (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883
    fx, fy, fz = (float(t ** (1 / 3)) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)
