"""``tender-pipeline train``: trains on a history of tenders and their codes."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from pipeline.answers import SYSTEMS, System
from pipeline.cli.options import (
    DialectOptions,
    as_json,
    dialect_options,
    input_format,
    labelled_columns,
    singular_or_plural,
)
from pipeline.cli.output.console import log_to_stderr, progress_display, say
from pipeline.cli.output.train import (
    about_model,
    by_level,
    by_source,
    model_summary,
    skipped_rows,
)
from pipeline.cli.recipe import read_recipe
from pipeline.codes import load, retirements
from pipeline.engine.model import check_free, load_model, save, shipped_models
from pipeline.engine.training import (
    Dataset,
    Recipe,
    Task,
    Trained,
    history_recipe,
    history_task,
    work,
)
from pipeline.engine.training.train import train as learn
from pipeline.errors import InputError, SettingsError
from pipeline.files.atomic import check_place
from pipeline.tables import Reader, find_column, labels, open_reader

__all__ = ["train"]

FEWEST = 20
"""The fewest rows to learn from; with fewer, none can be held back to measure the model."""

log = logging.getLogger("pipeline")


@dataclass(frozen=True, kw_only=True)
class _Options(DialectOptions):
    """The options of the command."""

    history: Path | None
    system: System | None
    text_columns: tuple[str, ...]
    code_column: str
    output: Path
    only_history: bool
    recipe: Path | None
    jobs: int
    overwrite: bool
    as_json: bool


@click.command(
    context_settings=singular_or_plural("system", "text-column"),
    short_help="Learn from your own history of tenders and their codes.",
)
@click.argument("history", required=False, type=click.Path(path_type=Path))
@click.option("--system", type=click.Choice(SYSTEMS), help="Whose codes they are.")
@labelled_columns
@click.option(
    "--output",
    required=True,
    type=click.Path(path_type=Path),
    help="The folder for the model; it replaces an older model there.",
)
@click.option("--only-history", is_flag=True, help="Use only the history, not the shipped model.")
@click.option(
    "--recipe",
    type=click.Path(path_type=Path),
    help="Instead of a history: a file that describes how to train several systems together.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Networks to train at once, each in its own process.",
)
@click.option("--overwrite", is_flag=True, help="Replace a folder that is not a model.")
@input_format()
@dialect_options(only=["--delimiter", "--encoding"])
@as_json()
def train(**values: Any) -> int:
    """Learn the codes of one system from HISTORY, a CSV or Parquet table of tenders with codes.

    The model goes into a folder, which is complete or does not exist. Use it with tender-pipeline
    run --model DIR. It answers together with the model that comes with this tool, with the weight
    that suits a tenth of the rows best. A first model learns without that tenth, and is measured
    on it; then the model is trained on all rows.
    """
    log_to_stderr()
    options = _Options(**values)
    about = _trained_and_saved(options)
    say(json.dumps(about) if options.as_json else model_summary(about, options.output))
    return 0


def _trained_and_saved(options: _Options) -> dict[str, Any]:
    """Train, save the model, and return the figures to show."""
    match options:
        case _Options(history=Path(), recipe=None, system=None):
            raise SettingsError(
                "The system of the history's codes is not given.",
                f"Give --system {'|'.join(SYSTEMS)}.",
            )
        case _Options(history=Path() as path, recipe=None, system=str(system)):
            _check_output(options)
            return _from_history(path, system, options)
        case _Options(history=None, recipe=Path() as recipe, system=None, only_history=False):
            _check_output(options)
            return _from_recipe(recipe, options)
        case _Options(history=None, recipe=Path()):
            raise SettingsError(
                "A recipe says itself which systems to train on which data.",
                "Leave --system and --only-history out.",
            )
        case _:
            raise SettingsError(
                "Give either a history or a recipe.",
                "Use tender-pipeline train HISTORY --system cpv --output DIR, or --recipe FILE.",
            )


def _check_output(options: _Options) -> None:
    check_free(options.output, options.overwrite)
    check_place(options.output.resolve())


def _from_history(path: Path, system: System, options: _Options) -> dict[str, Any]:
    reader = open_reader(path, options.text_columns, options.csv, options.input_format)
    dataset = _dataset(reader, path, system, options.code_column)
    examples = dataset.examples()
    beside = None if options.only_history else load_model(shipped_models(), system)
    task = history_task(system, examples, beside)
    (trained,) = _trained([task], history_recipe(len(examples)), options.jobs)
    about = about_model(dataset, task, trained, load_model(shipped_models(), system))
    save([trained.model], options.output, about, options.overwrite)
    return about


def _from_recipe(recipe: Path, options: _Options) -> dict[str, Any]:
    prepared = read_recipe(recipe)
    trained = _trained(prepared.tasks, prepared.recipe, options.jobs)
    about: dict[str, Any] = {
        task.system: {
            **about_model(dataset, task, each, load_model(shipped_models(), task.system)),
            "learned_by_source": dict(learned.most_common()),
            "by_source": by_source(each, sources),
            "by_level": by_level(each, task.system),
        }
        for task, dataset, sources, learned, each in zip(
            prepared.tasks,
            prepared.datasets,
            prepared.sources,
            prepared.learned,
            trained,
            strict=True,
        )
    }
    save([each.model for each in trained], options.output, about, options.overwrite)
    return about


def _dataset(reader: Reader, path: Path, system: System, column: str) -> Dataset:
    """Read a history, and immediately log the rows that cannot be used for training."""
    place = find_column(reader.schema.names, column, path, "--code-column")
    dataset = Dataset(load(system), retirements(system))
    for batch in reader.batches():
        dataset.read(batch.texts, labels(batch.to_arrow(), place, "--code-column"))
    for line in skipped_rows(dataset):
        log.warning("%s", line)
    kept = len(dataset.examples().codes)
    if kept < FEWEST:
        raise InputError(
            f"{path} has {kept} rows of {dataset.rows:,} to learn from, and {FEWEST} are needed.",
            "Check --text-column, --code-column and --system, or give a longer history.",
        )
    return dataset


def _trained(tasks: Sequence[Task], recipe: Recipe, jobs: int) -> list[Trained]:
    rows = sum(len(each.taught) + len(each.held_back) for each in tasks)
    phrases = sum(len(each.phrases) for each in tasks)
    named = f"{rows:,} rows" + (f" and {phrases:,} titles and phrases" if phrases else "")
    log.info("learning from %s, each read several times", named)
    with progress_display()(work(tasks, recipe)) as advance:
        return learn(tasks, recipe, advance, jobs)
