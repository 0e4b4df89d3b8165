"""The figures of a trained model, as they are saved with it and printed as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import binomtest

from pipeline.answers import System
from pipeline.bands import BANDS, band
from pipeline.codes import table
from pipeline.engine.model import Model
from pipeline.engine.model.arrays import Bools, Texts
from pipeline.engine.model.general_codes import is_general
from pipeline.engine.training import Dataset, Examples, Task, Trained
from pipeline.engine.training.examples import reading

__all__ = ["about_model", "flips"]


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
            **_headline(trained, task.system),
            "ok": _ok_from(trained, task.system),
            "bands": _bands(trained, task.system),
            "calibration_error": round(trained.error, 4),
            "flips": flips(trained, task, previous),
        },
    }


def _retired_codes(dataset: Dataset) -> dict[str, dict[str, Any]]:
    return {
        code: {
            "rows": rows,
            "until": dataset.retirements[code].until.isoformat(),
            "successor": dataset.retirements[code].successor,
        }
        for code, rows in dataset.retired.most_common()
    }


RIGHT = 2 / 3
"""Share of the codes with the status `ok` that are right as far as the buyer states a code."""

FEWEST_OK = 20
"""The fewest held-out rows that show a threshold of `ok`."""

CERTAINTY = 0.95
"""How certain it must be that at least `RIGHT` of such codes are right."""


def _headline(trained: Trained, system: System) -> dict[str, float]:
    """Return the headline metrics on the held-out rows.

    Returns:
        ``specific_1``, ``specific_5``, ``specific_10``: top-1, top-5 and top-10 accuracy on the
        rows whose code is not a division or segment; ``stated``: how often the first code is right
        to the depth of the buyer's code; ``general``: how many first codes are a division or a
        segment.
    """
    specific = np.array([not is_general(system, code) for code in trained.truth.tolist()])
    hits = trained.hits()[specific]
    general = [is_general(system, code) for code in trained.found[:, 0].tolist()]
    figures = {f"specific_{top}": _share(hits[:, :top].any(axis=1)) for top in (1, 5, 10)}
    return figures | {"stated": _share(_stated(trained, system)), "general": _share(general)}


def _ok_from(trained: Trained, system: System) -> dict[str, float | None]:
    """Return the lowest confidence from which two in three of the first codes are surely right.

    A code is right if it is right to the depth of the buyer's code. The held-out rows must show
    it: with few rows, or a poor model, there is no such confidence, and no code may be `ok`.

    Returns:
        ``confidence``: this threshold; None if there is none. ``rows``: the share of the rows at or
        above it; ``right``: the share of those whose code is right; ``right_at_least``: Wilson's
        lower bound of that share.
    """
    right = _stated(trained, system)
    sure = np.floor(trained.sure * 10_000) / 10_000  # not above any row that the threshold counts
    for least in np.unique(sure).tolist():
        reached = right[sure >= least]
        if len(reached) < FEWEST_OK:
            break
        test = binomtest(int(reached.sum()), len(reached), alternative="greater")
        low = test.proportion_ci(CERTAINTY, "wilson").low
        if low >= RIGHT:
            rows = len(reached) / len(right)
            found = {"rows": rows, "right": reached.mean(), "right_at_least": low}
            rounded = {name: round(float(value), 4) for name, value in found.items()}
            return {"confidence": least, **rounded}
    return {"confidence": None, "rows": 0.0, "right": 0.0, "right_at_least": 0.0}


def _bands(trained: Trained, system: System) -> dict[str, dict[str, float]]:
    """Return what the first codes of each band of confidence are worth.

    Returns:
        For each band, ``rows``: the share of the rows whose code is in it; ``right``: the share of
        those whose code is right to the depth of the buyer's code.
    """
    right = _stated(trained, system)
    found = np.array([band(sure) for sure in trained.sure.tolist()])
    return {
        name: {"rows": _share(found == name), "right": _share(right[found == name])}
        for name in BANDS
    }


def flips(trained: Trained, task: Task, previous: Model) -> dict[str, float]:
    """Return how many first codes on the held-out rows differ from those of another model.

    The previous model is the one that is replaced, or that was used without the new one. It ranks
    by its networks alone: judging its codes needs the texts, which are not kept.

    Returns:
        ``changed``: the flip rate; ``better`` and ``worse``: the share of the rows for which only
        the new first code, or only the previous one, is right to the depth of the buyer's code.
    """
    before = np.concatenate([_first(previous, each) for each in task.held_back.portions()])
    was = _right(task.system, trained.truth, before)
    now = _right(task.system, trained.truth, trained.found[:, 0])
    shares = {"changed": before != trained.found[:, 0], "better": now & ~was, "worse": was & ~now}
    return {name: _share(rows) for name, rows in shares.items()}


def _first(model: Model, examples: Examples) -> Texts:
    places, _ = model.ranked(reading(examples), examples.hashes, 1)
    found: Texts = model.codes[places[:, 0]]
    return found


def _stated(trained: Trained, system: System) -> Bools:
    return _right(system, trained.truth, trained.found[:, 0])


def _right(system: System, truth: Texts, found: Texts) -> Bools:
    """Tell which codes are right to the depth of the buyer's code."""
    rows = zip(truth.tolist(), found.tolist(), strict=True)
    return np.array([code.startswith(table.stem(system, label)) for label, code in rows])


def _share(some: Bools | Sequence[bool]) -> float:
    return round(float(np.mean(some)), 4) if len(some) else 0.0
