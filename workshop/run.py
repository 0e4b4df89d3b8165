"""Trains the models that a recipe describes, saves them, and says how good they are."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pipeline.answers import System
from pipeline.arguments import whole_number
from pipeline.codes import table
from pipeline.engine.model import load_model, save, shipped_model
from pipeline.engine.model.acceptance import calibration_error
from pipeline.engine.model.matrices import Bools
from pipeline.engine.model.model import is_general
from pipeline.engine.training import Trained
from pipeline.progress import Display
from pipeline.training.run import about_model, check_output
from workshop.recipe import Prepared, read_recipe
from workshop.training import judging, train, work

log = logging.getLogger("pipeline")


def train_recipe(
    recipe: Path,
    data: Path,
    output: Path,
    shown: Display,
    jobs: int = 1,
    overwrite: bool = False,
    judges: bool = True,
) -> dict[str, Any]:
    """Train several systems together, as a recipe describes, save the models, return the figures.

    If not ``judges``, no trees are trained, whatever was judged: `workshop.meanings` trains them.

    Raises:
        SettingsError: the file is not a valid recipe.
        InputError: a file that it names does not exist, or lacks a column.
        OutputError: the models cannot be written.
    """
    jobs = whole_number("jobs", jobs, 1)
    check_output(output, overwrite)
    settings, systems = read_recipe(recipe, data)
    tasks = [each.task for each in systems]
    rows = sum(len(each.taught) + len(each.held_back) for each in tasks)
    phrases = sum(len(each.phrases) for each in tasks)
    log.info("learning from %s rows and %s titles and phrases", f"{rows:,}", f"{phrases:,}")
    with shown(work(tasks, settings), "reads") as advance:
        found = train(tasks, settings, advance, jobs)
    about: dict[str, Any] = {
        read.task.system: _about_system(read, each)
        for read, each in zip(systems, found, strict=True)
    }
    models = {each.model.system: each.model for each in found}
    for system, (model, figures) in (judging(tasks, found) if judges else {}).items():
        models[system], about[system]["judged"] = model, figures
    save([*models.values()], output, about, overwrite)
    return about


def _about_system(read: Prepared, trained: Trained) -> dict[str, Any]:
    """Return the figures of one system of a recipe."""
    system = read.task.system
    about = about_model(read.dataset, read.task, trained, load_model(shipped_model(), system))
    return {
        **about,
        "phrases": len(read.task.phrases),
        "held_back": about["held_back"] | general_codes(trained, system),
        "learned_by_source": dict(read.learned.most_common()),
        "by_source": by_source(trained, read.sources),
        "by_level": by_level(trained, system),
    }


def general_codes(trained: Trained, system: System) -> dict[str, float]:
    """Return how much of the accuracy general codes, such as CPV divisions, are responsible for.

    Returns:
        ``specific_1``, ``specific_5``, ``specific_10``: top-1, top-5 and top-10 accuracy on the
        rows whose code is not a division or segment; ``stated``: how often the first code is right
        to the depth of the buyer's code; ``general``: how many first codes are a division or a
        segment.
    """
    right, first = trained.truth.tolist(), trained.found[:, 0].tolist()
    hits = trained.hits()[[not is_general(system, code) for code in right]]
    stated = [
        found.startswith(table.stem(system, code)) for code, found in zip(right, first, strict=True)
    ]
    shares = {f"specific_{top}": hits[:, :top].any(axis=1).tolist() for top in (1, 5, 10)}
    shares |= {"stated": stated, "general": [is_general(system, code) for code in first]}
    return {name: round(float(np.mean(rows or [False])), 4) for name, rows in shares.items()}


def by_source(trained: Trained, sources: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return each source's number of rows, share of right codes, and mean confidence."""
    source = np.array(sources)
    return {name: _source_figures(trained, source == name) for name in sorted(set(source.tolist()))}


def by_level(trained: Trained, system: System) -> dict[str, dict[str, float]]:
    """Return the first code's accuracy at each level, on the rows coded to that depth."""
    rows = list(zip(trained.truth.tolist(), trained.found[:, 0].tolist(), strict=True))
    figures = {}
    for digits, name in table.LEVELS[system].items():
        right = [
            table.cut(system, truth, digits) == table.cut(system, found, digits)
            for truth, found in rows
            if len(table.stem(system, truth)) >= digits
        ]
        share = round(float(np.mean(right or [False])), 4)
        figures[name] = {"rows": len(right), "right_1": share}
    return figures


def _source_figures(trained: Trained, rows: Bools) -> dict[str, Any]:
    hits, sure = trained.hits()[rows], trained.sure[rows]
    right = {f"right_{top}": float(hits[:, :top].any(axis=1).mean()) for top in (1, 5, 10)}
    error = calibration_error(sure, hits[:, 0])
    figures = right | {"says": float(sure.mean()), "calibration_error": error}
    rounded = {name: round(value, 4) for name, value in figures.items()}
    return {"rows": int(rows.sum())} | rounded
