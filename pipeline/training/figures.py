"""The figures of a trained model, as they are saved with it and printed as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pipeline.answers import System
from pipeline.codes import levels
from pipeline.engine.model import Model
from pipeline.engine.model.arrays import Bools
from pipeline.engine.model.calibration import calibration_error
from pipeline.engine.training import Dataset, Task, Trained
from pipeline.training.held_out import bands, flips, headline, ok_from

__all__ = ["about_model", "by_level", "by_source"]


def about_model(dataset: Dataset, task: Task, trained: Trained, previous: Model) -> dict[str, Any]:
    """Return the figures that are saved with the model and printed as JSON.

    The previous model is the one that answers without it.
    """
    return {
        "system": task.system,
        "rows": dataset.rows,
        "learned_rows": len(task.examples(whole=True)),
        "rows_without_text": dataset.without_text,
        "rows_without_code": dataset.without_code,
        "unknown_codes": dict(dataset.unknown.most_common()),
        "retired_codes": _retired_codes(dataset),
        "rows_beyond_the_table": dataset.beyond,
        "phrases": len(task.phrases),
        "codes": len(trained.model.codes),
        "codes_from_examples": len(set(task.examples(whole=True).codes.tolist())),
        "weight_of_the_history": trained.model.weight,
        "held_back": {
            "rows": len(trained.truth),
            "repeats": trained.repeats,
            "right": {str(top): round(trained.right(top), 4) for top in (1, 5, 10)},
            **headline(trained, task.system),
            "ok": ok_from(trained, task.system),
            "bands": bands(trained, task.system),
            "calibration_error": round(trained.error, 4),
            "flips": flips(trained, task, previous),
        },
    }


def by_source(trained: Trained, sources: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return each source's number of rows, share of right codes, and mean confidence."""
    source = np.array(sources)
    return {name: _source_figures(trained, source == name) for name in sorted(set(source.tolist()))}


def by_level(trained: Trained, system: System) -> dict[str, dict[str, float]]:
    """Return the first code's accuracy at each level, on the rows coded to that depth."""
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


def _retired_codes(dataset: Dataset) -> dict[str, dict[str, Any]]:
    return {
        code: {
            "rows": rows,
            "until": dataset.retirements[code].until.isoformat(),
            "successor": dataset.retirements[code].successor,
        }
        for code, rows in dataset.retired.most_common()
    }


def _source_figures(trained: Trained, rows: Bools) -> dict[str, Any]:
    hits, sure = trained.hits()[rows], trained.sure[rows]
    right = {f"right_{top}": float(hits[:, :top].any(axis=1).mean()) for top in (1, 5, 10)}
    error = calibration_error(sure, hits[:, 0])
    figures = right | {"says": float(sure.mean()), "calibration_error": error}
    rounded = {name: round(value, 4) for name, value in figures.items()}
    return {"rows": int(rows.sum())} | rounded
