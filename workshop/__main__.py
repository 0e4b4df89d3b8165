"""Trains the models of a recipe, or all models that come with the package.

    python -m workshop [RECIPE] --data FOLDER [--output FOLDER] [--jobs 2] [--overwrite]

The files that a recipe names are in the folder of ``--data``. Without a recipe, it is the one in
``pipeline/engine/shipped``; `workshop.meanings` then completes the model, which replaces that of
this checkout. With a recipe, the model goes into the folder of ``--output``, which `run --model`
takes, and its figures are printed as JSON.
"""

from __future__ import annotations

import argparse
import json
import logging
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from pipeline.cli.output.console import log_to_stderr, progress_display, say
from pipeline.engine.model.folder import is_model
from pipeline.errors import PipelineError
from pipeline.training.run import summary_lines
from workshop import meanings
from workshop.run import train_recipe

ROOT = Path(__file__).resolve().parent.parent
SHIPPED = ROOT / "pipeline" / "engine" / "shipped"

MADE = ROOT / "build" / "model"
"""What is made step by step; after an interruption, the next run goes on from there."""

FLATTERED = (
    "If the package's models learned the rows that a recipe holds back, as they did those of their "
    "own recipe, they look better in this comparison than on new rows."
)
"""What to say below a comparison with the package's models on the held-out rows of a recipe."""

log = logging.getLogger("pipeline")


def main(arguments: Sequence[str] | None = None) -> int:
    """Train what the arguments name."""
    parser = argparse.ArgumentParser(prog="workshop", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("recipe", nargs="?", type=Path)
    parser.add_argument("--data", type=Path, help="default: the folder of the recipe")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--jobs", type=int, default=1, help="networks to train at once")
    parser.add_argument("--overwrite", action="store_true")
    options = parser.parse_args(arguments)
    log_to_stderr()
    if options.recipe is None:
        if options.data is None or options.output is not None:
            parser.error("without a recipe, give --data FOLDER and no --output")
        return _train_shipped(options.data, options.jobs)
    if options.output is None:
        parser.error("a recipe needs --output FOLDER")
    folder = options.data or options.recipe.parent
    return _train(options.recipe, folder, options.output, options.jobs, options.overwrite)


def _train_shipped(data: Path, jobs: int) -> int:
    """Train the networks of the package's model, complete it, and put it in place."""
    networks, models = MADE / "networks", MADE / "models"
    if not is_model(networks):
        MADE.mkdir(parents=True, exist_ok=True)
        if code := _train(SHIPPED / "recipe.toml", data, networks, jobs, judges=False):
            return code
    meanings.main(["--data", str(data), "--networks", str(networks), "--output", str(models)])
    install(models, SHIPPED)
    shutil.rmtree(MADE)
    return 0


def _train(
    recipe: Path,
    data: Path,
    output: Path,
    jobs: int,
    overwrite: bool = False,
    judges: bool = True,
) -> int:
    try:
        about = train_recipe(recipe, data, output, progress_display(), jobs, overwrite, judges)
    except PipelineError as error:
        click.echo(f"{error.message} {error.hint}", err=True)
        return error.exit_code
    for each in about.values():
        log.info("%s", "\n".join(summary_lines(each)))
    log.info("%s", FLATTERED)
    say(json.dumps(about))
    return 0


def install(models: Path, folder: Path) -> None:
    """Replace the models in a folder, and leave its recipe and its cards."""
    for old in (*folder.glob("*.npy"), folder / "model.json"):
        old.unlink(missing_ok=True)
    for new in models.iterdir():
        shutil.copy2(new, folder / new.name)


if __name__ == "__main__":
    sys.exit(main())
