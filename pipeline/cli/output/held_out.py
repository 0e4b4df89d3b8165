"""Measures a model on the held-out rows: by source and by level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pipeline.answers import System
from pipeline.codes import levels
from pipeline.engine.model import Trained
from pipeline.engine.model.arrays import Bools
from pipeline.engine.model.calibration import calibration_error

__all__ = ["by_level", "by_source"]


def by_source(trained: Trained, sources: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return for each source its rows, the share of right codes, and the mean confidence.

    Args:
        trained: the model and its answers for the held-out rows.
        sources: the source of each row.
    """
    source = np.array(sources)
    return {name: _figures(trained, source == name) for name in sorted(set(source.tolist()))}


def by_level(trained: Trained, system: System) -> dict[str, dict[str, float]]:
    """Return for each level how often the first code is right, of the rows coded that deep."""
    rows = list(zip(trained.truth.tolist(), trained.found[:, 0].tolist(), strict=True))
    figures = {}
    for digits, name in levels.LEVELS[system].items():
        right = [
            levels.cut(system, truth, digits) == levels.cut(system, found, digits)
            for truth, found in rows
            if len(levels.stem(system, truth)) >= digits
        ]
        share = round(float(np.mean(right or [False])), 4)
        figures[name] = {"rows": len(right), "right_1": share}
    return figures


def _figures(trained: Trained, rows: Bools) -> dict[str, Any]:
    hits, sure = trained.hits()[rows], trained.sure[rows]
    right = {f"right_{top}": float(hits[:, :top].any(axis=1).mean()) for top in (1, 5, 10)}
    error = calibration_error(sure, hits[:, 0])
    figures = right | {"says": float(sure.mean()), "calibration_error": error}
    rounded = {name: round(value, 4) for name, value in figures.items()}
    return {"rows": int(rows.sum())} | rounded
