"""Trains a model on a history, and saves it in a folder."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.answers import SYSTEMS, System
from pipeline.checks import check_flag, whole_number
from pipeline.codes import load, retirements
from pipeline.decisions import NO_DECISIONS, DecidedLabels, Decisions
from pipeline.engine.model import check_free, load_model, save, shipped_model
from pipeline.engine.training import (
    Dataset,
    history_recipe,
    history_task,
    work,
)
from pipeline.engine.training.train import train
from pipeline.errors import InputError, SettingsError
from pipeline.files.atomic import check_place
from pipeline.progress import Display
from pipeline.quoting import how_many
from pipeline.settings import parse_system
from pipeline.tables import Reader, find_column, labels
from pipeline.training.figures import about_model
from pipeline.training.trained_model import TrainedModel, TrainedSystem, skipped_rows
from pipeline.wording import beside, option

__all__ = [
    "TrainingSettings",
    "check_output",
    "checked_system",
    "from_history",
]

FEWEST = 20
"""The fewest rows to learn from; with fewer, none can be held out to measure the model."""

Warn = Callable[[str], None]
"""Receives a line for each reason why rows are skipped, before the training begins."""

log = logging.getLogger("pipeline")


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """How to train on a history.

    These are arguments of `pipeline.train`, which describes them.
    """

    system: System
    code_column: str
    output: Path
    only_history: bool = False
    jobs: int = 1
    overwrite: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "system", parse_system(self.system))
        object.__setattr__(self, "jobs", whole_number("jobs", self.jobs, 1))
        for name in ("only_history", "overwrite"):
            check_flag(name, getattr(self, name))
        if not isinstance(self.code_column, str) or not self.code_column:
            hint = f"code_column must name a column{beside('code_column', 'NAME')}."
            raise SettingsError(f"code_column is {self.code_column!r}.", hint)


def check_output(output: Path, overwrite: bool) -> None:
    """Check, before any work is done, that a model can be written to a folder.

    Raises:
        OutputError: it may not be replaced, or cannot be written.
    """
    check_free(output, overwrite)
    check_place(output.resolve())


def checked_system(system: Any, history: object, decisions: Decisions) -> System:
    """Return the system to train, after checking that there is something to learn from.

    Raises:
        SettingsError: there is neither a history nor a file of decisions, or no system.
    """
    systems = f"{option('system')}: {', '.join(SYSTEMS)}"
    if history is None and not decisions.files:
        more = "" if system else f"; and {systems}"
        raise SettingsError(
            "There is nothing to learn from.",
            f"Give a history or {option('decisions', 'FILE')}{more}.",
        )
    if system is None:
        raise SettingsError("The system of the codes is not given.", f"Give {systems}.")
    return parse_system(system)


def from_history(
    reader: Reader | None,
    name: str | None,
    settings: TrainingSettings,
    shown: Display,
    warn: Warn,
    decisions: Decisions = NO_DECISIONS,
) -> TrainedModel:
    """Train on a table of texts with codes, and save the model.

    Without a reader, it learns from decisions alone. What people decided replaces the codes of the
    table, and adds to them. ``warn`` gets a line for each reason why rows are skipped.

    Raises:
        InputError: the table cannot be read, or has too few rows to learn from.
        OutputError: the model cannot be written.
    """
    system, name = settings.system, name or " and ".join(decisions.files)
    dataset = _dataset(reader, name, settings, DecidedLabels(decisions, system))
    skipped = list(skipped_rows(dataset))
    for line in skipped:
        warn(line)
    _check_enough(dataset, name, reader is None)
    examples = dataset.examples()
    package = load_model(shipped_model(system), system)
    task = history_task(system, examples, None if settings.only_history else package)
    recipe = history_recipe(len(examples))
    log.info("learning from %s, each read several times", how_many(len(examples), "row"))
    with shown(work([task], recipe), "reads") as advance:
        (trained,) = train([task], recipe, advance, settings.jobs)
    about = about_model(dataset, task, trained, package)
    save([trained.model], settings.output, about, settings.overwrite)
    return TrainedModel(settings.output, {system: TrainedSystem.of(about)}, skipped, about)


def _dataset(
    reader: Reader | None, name: str, settings: TrainingSettings, decided: DecidedLabels
) -> Dataset:
    dataset = Dataset(load(settings.system), retirements(settings.system))
    if reader is not None:
        names, column = reader.schema.names, settings.code_column
        place = find_column(names, column, name, "code_column", settings.system)
        for batch in reader.batches():
            codes = labels(batch.to_arrow(), place, "code_column")
            dataset.read(batch.texts, decided.corrected(batch.texts, codes))
    dataset.read(*decided.rest())
    return dataset


def _check_enough(dataset: Dataset, name: str, only_decisions: bool) -> None:
    kept, system = len(dataset.examples().codes), dataset.table.system
    if kept < FEWEST and only_decisions:
        raise InputError(
            f"{name} has codes for {how_many(kept, f'{system} text')}, and {FEWEST} are needed.",
            f"Check {option('system')}, decide more {system} texts, or give a history as well.",
        )
    if kept < FEWEST:
        raise InputError(
            f"{name} has {how_many(kept, 'row')} of {dataset.rows:,} to learn from, and {FEWEST} "
            "are needed.",
            f"Check {option('text_columns')}, {option('code_column')} and {option('system')}, or "
            "give a longer history.",
        )
