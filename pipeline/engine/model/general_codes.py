"""Handles codes for a whole field (CPV divisions, UNSPSC segments) and the codes below them.

A buyer who gives a general code names the field of the text, but not its specific code.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from pipeline.answers import System
from pipeline.engine.model.arrays import Floats, Ints, Texts

__all__ = ["Field", "fields", "is_general", "made_specific"]

WITH_FIELDS = ("cpv", "unspsc")

EVIDENCE = 0.01
"""A general code stays first if every code below it has less than this fraction of its share."""
LEAST = 1e-3
"""General codes with a smaller share are left unchanged: they never come first in an answer."""

Field = tuple[int, Ints]
"""The index of a general code, and the indices of all codes below it."""


def is_general(system: System, code: str) -> bool:
    """Return whether a code names a whole field."""
    return system in WITH_FIELDS and code.endswith("000000")


def fields(system: System, codes: Texts) -> tuple[Field, ...]:
    """Return the fields for which the codes include the general code and any code below it."""
    general: list[tuple[int, str]] = []
    below: dict[str, list[int]] = defaultdict(list)
    for place, code in enumerate(codes.tolist()):
        if is_general(system, code):
            general.append((place, code[:2]))
        else:
            below[code[:2]].append(place)
    return tuple((place, np.array(below[field])) for place, field in general if field in below)


def made_specific(shares: Floats, some: Sequence[Field]) -> Floats:
    """Pass the shares of general codes on to the codes below them, in place.

    A general code that would rank above all codes below it keeps only the highest of their shares.
    The rest goes to the codes below, in proportion to their shares.

    Args:
        shares: texts x codes.
        some: the fields among the codes.
    """
    # All fields are looked at together: for most, no text has a share worth passing on.
    likely = shares[:, [own for own, _ in some]] >= LEAST
    for place in np.flatnonzero(likely.any(axis=0)).tolist():
        own, below = some[place]
        rows = np.flatnonzero(likely[:, place])
        parts = shares[np.ix_(rows, below)]
        best, general = parts.max(axis=1), shares[rows, own]
        lower = (best < general) & (best >= EVIDENCE * general)
        rows, parts, best, general = rows[lower], parts[lower], best[lower], general[lower]
        growth = 1 + (general - best) / parts.sum(axis=1)
        shares[np.ix_(rows, below)] = parts * growth[:, None]
        shares[rows, own] = best
    return shares
