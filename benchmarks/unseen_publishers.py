"""Measures how much worse codes are for a publisher that the models were not trained on.

    python -m benchmarks.unseen_publishers RECIPE [--publishers 4] [--rows 1000] [--output FILE]

RECIPE is a recipe of ``python -m workshop`` in a folder with its files and nothing else, such as
a copy of pipeline/engine/shipped/recipe.toml. Some rows of each large source (a collection of one
publisher) are held out. One model is trained on all other rows. Then, for each source, another is
trained without any of its rows; the rows of one source of each system are left out together. All
have one network, the first of the recipe, and judge no codes. Both answer the rows held out, and
the table compares them: how many first codes and how many among ten are exact, and the calibration
error.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.command_line import parser_for
from pipeline.answers import System
from workshop.recipe import read_recipe
from workshop.run import by_source
from workshop.training import train

__all__: list[str] = []

FEWEST = 1_000
"""A source needs this many rows besides those held out, so that leaving it out says something."""

LINE = "{:>6} {:<32} {:>6} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7}"


@dataclass(frozen=True)
class Labelled:
    """The labelled rows of one system.

    Attributes:
        taught: the path of the file that the recipe teaches, from the recipe's folder.
        held_back: the path of the file that it evaluates.
        rows: the rows to teach.
        asked: the rows to evaluate, some of each large source; the largest source first.
    """

    taught: str
    held_back: str
    rows: pd.DataFrame
    asked: pd.DataFrame


def main() -> None:
    """Train the models, then print the figures of each source."""
    options = _options()
    recipe: Path = options.recipe
    systems = tomllib.loads(recipe.read_text("utf-8"))["systems"]
    labelled: dict[System, Labelled] = {
        system: _labelled(recipe.parent, lines, options.publishers, options.rows)
        for system, lines in systems.items()
    }
    sources = {system: each.asked["source"].unique() for system, each in labelled.items()}
    rounds: list[dict[System, str]] = [{}] + [
        {system: some[place] for system, some in sources.items() if place < len(some)}
        for place in range(max(map(len, sources.values())))
    ]
    found = [_figures(recipe, labelled, left_out) for left_out in rounds]
    if options.output:
        options.output.write_text(json.dumps({"left_out": rounds, "figures": found}, indent=1))
    _print(rounds, found)


def _options() -> argparse.Namespace:
    parser = parser_for(__file__, __doc__)
    parser.add_argument("recipe", type=Path)
    parser.add_argument("--publishers", type=int, default=4, help="sources of each system")
    parser.add_argument("--rows", type=int, default=1_000, help="rows held out of each source")
    parser.add_argument("--output", type=Path, help="a JSON file for all figures")
    return parser.parse_args()


def _labelled(folder: Path, lines: Mapping[str, Any], publishers: int, count: int) -> Labelled:
    """Read the file that a system of the recipe teaches, and hold out rows of its sources."""
    (taught,), (held_back,) = lines["taught"], lines["held_back"]
    rows = pd.read_csv(folder / taught, dtype=str).dropna(subset=["text"])
    sizes = rows["source"].value_counts()
    large = sizes[sizes >= count + FEWEST].index[:publishers]
    asked = pd.concat(
        rows[rows["source"] == source].sample(count, random_state=0) for source in large
    )
    return Labelled(taught, held_back, rows[~rows["text"].isin(asked["text"])], asked)


def _figures(
    recipe: Path, labelled: Mapping[System, Labelled], left_out: Mapping[System, str]
) -> dict[System, dict[str, Any]]:
    """Train without the sources to leave out, and return the figures of each source by system."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(recipe.parent, folder, dirs_exist_ok=True)
        for system, each in labelled.items():
            known = each.rows[each.rows["source"] != left_out.get(system)]
            known.to_csv(folder / each.taught, index=False)
            each.asked.to_csv(folder / each.held_back, index=False)
        settings, systems = read_recipe(folder / recipe.name, folder)
    settings = replace(settings, networks=settings.networks[:1])
    tasks = [replace(each.task, learns_held_back=False, judged=()) for each in systems]
    trained = train(tasks, settings, lambda _: None)
    return {
        system.task.system: by_source(each, system.sources)
        for system, each in zip(systems, trained, strict=True)
    }


def _print(
    rounds: Sequence[Mapping[System, str]],
    found: Sequence[Mapping[System, Mapping[str, Mapping[str, float]]]],
) -> None:
    known, *others = found
    print(LINE.format("", "", "", "right", "first", "among", "ten", "calibr.", "error"))
    print(LINE.format("system", "source", "rows", *("known", "unseen") * 3))
    for left_out, figures in zip(rounds[1:], others, strict=True):
        for system, source in left_out.items():
            before, after = known[system][source], figures[system][source]
            pairs = (
                f"{each[name]:.3f}"
                for name in ("right_1", "right_10", "calibration_error")
                for each in (before, after)
            )
            print(LINE.format(system, source, int(after["rows"]), *pairs))


if __name__ == "__main__":
    main()
