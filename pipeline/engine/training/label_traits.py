"""Defines the traits that codes share; a code's weights are the sum of its traits' weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from pipeline.answers import System
from pipeline.codes.table import cut, stem

__all__ = ["traits", "tree"]


def tree(system: System, codes: Sequence[str]) -> sparse.csr_matrix:
    """Return a matrix (codes x traits) with 1 where a code has a trait."""
    place: dict[str, int] = {}
    rows: list[int] = []
    columns: list[int] = []
    for row, code in enumerate(codes):
        for trait in traits(system, code):
            rows.append(row)
            columns.append(place.setdefault(trait, len(place)))
    ones = np.ones(len(rows), np.float32)
    return sparse.csr_matrix((ones, (rows, columns)), (len(codes), len(place)))


def traits(system: System, code: str) -> list[str]:
    """Return the code, its ancestors and, for PSC, the equipment or structure serviced."""
    own = f"={code}"
    match system:
        case "cpv":
            short = stem("cpv", code)
            return [own, *(short[:length] for length in range(2, min(len(short), 6) + 1))]
        case "unspsc":
            return [
                own,
                *(code[:length] for length in (2, 4, 6) if code[length - 2 : length] != "00"),
            ]
        case "naics":
            return [own, cut("naics", code, 2), code[:3], code[:4], code[:5]]
        case _:
            return [own, *_psc(code)]


def _psc(code: str) -> list[str]:
    found = [code[:2]]
    if code[:2].isdigit():
        return [*found, "supplies", f"equipment {code[:2]}"]
    found.append(code[0])
    if code[0] in "EHJKLNW" and code[2:].isdigit():
        found.append(f"equipment {code[2:]}")
    if code[0] in "CEFMXYZ" and code[1].isdigit():
        found += [f"structure {code[2:]}", f"structures {code[2]}"]
    if code[0] == "A":
        found.append(f"stage {code[3]}")
    if code[0] in "7D":
        found.append(f"technology {code[1]}")
    return found
