"""Bands of confidence: what a code is worth, in one word, the same on every page and terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, get_args

from pipeline.answers import System

__all__ = [
    "BANDS",
    "LIKELY",
    "MEASURED",
    "OK_FROM",
    "OK_MEASURED",
    "SURE",
    "Band",
    "band",
    "bounded",
]

Band: TypeAlias = Literal["sure", "likely", "doubtful"]

BANDS: tuple[Band, ...] = get_args(Band)
"""The bands, the best first. A row without a code is in none of them."""

SURE = 0.95
"""The confidence from which a code is sure."""

LIKELY = 0.5
"""The confidence from which a code is likely."""

OK_FROM: Mapping[System, float] = {
    "cpv": 0.75,
    "psc": 0.75,
    "unspsc": 0.82,
    "naics": 0.73,
}
"""The lowest confidence from which a code of the embedded engine is ``ok``.

An expert accepts 85 in 100 of such codes of sources that taught the judgement nothing (of CPV, 79,
and 86 without one table of texts that begin alike). 15 % (cpv), 27 % (psc), 6 % (unspsc) and
38 % (naics) of their texts have such a code."""

OK_MEASURED = "about 85 in 100"
"""How many codes from `OK_FROM` on an expert accepts, for people."""

MEASURED: Mapping[Band, str] = {"sure": "14 in 15", "likely": "7 in 10", "doubtful": "1 in 3"}
"""How many codes of the embedded engine in each band an expert accepts, on the same texts: 92 to
96 % of the sure ones, 69 to 74 % of the likely, 33 to 39 % of the doubtful."""

LARGEST = 1e9
"""The largest confidence in figures; see `bounded`."""


def bounded(confidence: float) -> float:
    """Limit a confidence so that sums of it are finite: a service may state any float."""
    return max(-LARGEST, min(confidence, LARGEST))


def band(confidence: float) -> Band:
    """Return the band of a code's confidence; on any scale but 0 to 1, the code is doubtful.

    It does not depend on ``min_confidence``, which sets the status.
    """
    if not LIKELY <= confidence <= 1:
        return "doubtful"
    return "sure" if confidence >= SURE else "likely"
