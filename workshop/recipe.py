"""Reads a recipe: the files and settings for training the models of several systems together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline.answers import SYSTEMS, System
from pipeline.codes import CodeTable, counterparts, shipped, titles_by_language
from pipeline.engine.model.matrices import Floats
from pipeline.engine.training import Dataset, Examples, NetworkSettings
from pipeline.errors import InputError, SettingsError
from pipeline.files.regular import read_toml
from pipeline.tables.formats import open_reader
from workshop.acceptance import read_judged
from workshop.training import OtherLanguages, Recipe, Task

TEXTS = Path(__file__).parent / "texts"
"""What was written for training."""

TABLES = {"networks", "model", "systems", "other_languages"}
"""The tables that a recipe may have."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a file.

    Attributes:
        file: its path, relative to the folder of the data.
        text: the columns that are joined into one text.
        code: the column of the code.
        split: the separator of several phrases in one text.
        where: the values that columns must have for a row to be used.
    """

    file: str
    text: Sequence[str] = ("text",)
    code: str = "code"
    split: str = ""
    where: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SystemSettings:
    """The settings of one system in a recipe.

    Attributes:
        taught: files of labelled texts, with the columns ``text``, ``code`` and ``source``.
        held_back: files of held-out rows that validate a first model.
        phrases: files of alternative wordings of codes.
        most_of_a_source: the maximum total weight of a source.
        title_weight, title_share: a title's weight; its probability of being used in an epoch.
        phrase_weight: the weight of a phrase, whether from a file or shipped.
        learns_from_cpv: how much the texts of CPV count in this system; 0 for not at all. See
            `workshop.training`.
        learns_held_back: whether the final model also trains on the held-out files.
        judged: a file of texts whose codes an expert judged, if the model learns from them how
            likely its codes are accepted.
    """

    taught: Sequence[str]
    held_back: Sequence[str]
    phrases: Sequence[Rows] = ()
    most_of_a_source: int = 10_000
    title_weight: float = 0.3
    title_share: float = 1.0
    phrase_weight: float = 0.3
    learns_from_cpv: float = 0.0
    learns_held_back: bool = True
    judged: str = ""


@dataclass(frozen=True, slots=True)
class RecipeFile:
    """What a recipe says."""

    recipe: Recipe
    systems: Mapping[System, SystemSettings]


def read_settings(path: Path) -> RecipeFile:
    """Read the file of a recipe, and none of the files that it names.

    Raises:
        SettingsError: the file is not a valid recipe.
    """
    try:
        text = read_toml(path)
        systems = {name: _system_settings(values) for name, values in text["systems"].items()}
        networks = [each for group in text["networks"] for each in _alike(group)]
        seeded = tuple(replace(each, seed=seed) for seed, each in enumerate(networks))
        languages = OtherLanguages(**text.get("other_languages", {}))
        recipe = Recipe(seeded, **text["model"], other_languages=languages)
        _check(systems, recipe)
        if unknown_tables := text.keys() - TABLES:
            raise ValueError(f"it has an unknown table, {min(unknown_tables)}")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SettingsError(
            f"{path} is not a valid recipe: {error}.",
            "See pipeline/engine/shipped/recipe.toml in the source for an example.",
        ) from error
    unknown = set(systems) - set(SYSTEMS)
    if unknown:
        raise SettingsError(
            f"{path} names an unknown system, {min(unknown)}.",
            f"Choose from {', '.join(SYSTEMS)}.",
        )
    return RecipeFile(recipe, systems)


def _alike(values: Mapping[str, Any]) -> list[NetworkSettings]:
    """Return the settings of a group of networks, which differ only in their seeds."""
    shared = {**values}
    count = shared.pop("count")
    return [NetworkSettings(**shared)] * count


def _system_settings(values: Mapping[str, Any]) -> SystemSettings:
    return SystemSettings(
        **{**values, "phrases": [Rows(**rows) for rows in values.get("phrases", ())]}
    )


def _check(systems: Mapping[str, SystemSettings], recipe: Recipe) -> None:
    """Check early what would otherwise fail in the middle of training.

    Raises:
        ValueError: something is missing, not a number or not a list.
    """
    if not systems:
        raise ValueError("it names no system")
    if not recipe.networks:
        raise ValueError("the count of networks is zero")
    for name, settings in systems.items():
        for names in (settings.taught, settings.held_back):
            if not (isinstance(names, list) and names):
                raise ValueError(f"{name} needs files in the lists taught and held_back")
        if settings.learns_from_cpv and (name == "cpv" or "cpv" not in systems):
            raise ValueError(f"{name} learns from CPV, which it does not name")
    _check_numbers(recipe)
    _check_numbers(recipe.other_languages)
    for network in recipe.networks:
        _check_numbers(network)


def _check_numbers(part: Recipe | OtherLanguages | NetworkSettings) -> None:
    """Check the types of the numbers in a part of a recipe; its own parts are checked apart."""
    for each in fields(part):
        value = getattr(part, each.name)
        if isinstance(value, tuple | OtherLanguages):
            continue
        if each.type == "int" and not isinstance(value, int):
            raise ValueError(f"{each.name} is not a whole number")
        if not isinstance(value, int | float):
            raise ValueError(f"{each.name} is not a number")


@dataclass(frozen=True, slots=True)
class Prepared:
    """A system of a recipe whose files have been read.

    Attributes:
        task: what its networks learn.
        dataset: the rows that were used and skipped.
        sources: the sources of the held-out rows.
        learned: the rows of each source that the final model trains on.
    """

    task: Task
    dataset: Dataset
    sources: list[str]
    learned: Counter[str]


def read_recipe(path: Path, data: Path) -> tuple[Recipe, list[Prepared]]:
    """Read a recipe and all the files it names, which are in the folder ``data``.

    Returns:
        The settings of the networks, and the systems to train.

    Raises:
        SettingsError: the file is not a valid recipe.
        InputError: a file does not exist, or lacks a column.
    """
    read = read_settings(path)
    prepared = [_prepared(data, system, each) for system, each in read.systems.items()]
    return read.recipe, prepared


def _prepared(folder: Path, system: System, settings: SystemSettings) -> Prepared:
    table = shipped(system)
    taught, held_back = Dataset(table), Dataset(table)
    sources = _labelled(folder, settings.taught, taught)
    tried = _labelled(folder, settings.held_back, held_back)
    titles = _titles(table)
    others = _phrases(folder, table, settings)
    all_sources = [*sources, *tried]
    counts = [len(titles), len(others)]
    task = Task(
        system,
        taught=taught.examples(),
        held_back=held_back.examples(),
        phrases=Examples.joined([titles, others]),
        weights=_weights(all_sources, settings),
        phrase_weights=np.repeat([settings.title_weight, settings.phrase_weight], counts),
        phrase_shares=np.repeat([settings.title_share, 1.0], counts),
        crosswalk=counterparts(system) if settings.learns_from_cpv else {},
        weight_of_cpv=settings.learns_from_cpv,
        recognises=False,
        learns_held_back=settings.learns_held_back,
        judged=read_judged(folder / settings.judged) if settings.judged else (),
    )
    learned = all_sources if settings.learns_held_back else sources
    return Prepared(task, taught, tried, Counter(learned))


def _labelled(folder: Path, files: Sequence[str], dataset: Dataset) -> list[str]:
    """Read the rows of labelled files; return the sources of those that are used."""
    sources: list[str] = []
    for name in files:
        for texts, rows in batches(folder / name, ["text"], ["code", "source"]):
            codes = [code or "" for code in rows["code"].to_pylist()]
            sources += compress(rows["source"].to_pylist(), dataset.read(texts, codes))
    if not sources:
        raise InputError(
            f"No row of {', '.join(files)} has a text and a {dataset.table.system} code.",
            "Name other files in the recipe, or the columns text, code and source in them.",
        )
    return sources


def _titles(table: CodeTable) -> Examples:
    titles, codes = [], []
    for language in titles_by_language(table):
        for code, title in zip(table.titles, language, strict=True):
            if table.assignable(code) and title:
                titles.append(title)
                codes.append(code)
    return Examples.of(titles, codes)


def phrases(system: System) -> list[tuple[str, str]]:
    """Return (code, phrase) pairs: how buyers word a code, in several languages."""
    lines = (TEXTS / f"phrases_{system}.tsv").read_text("utf-8").splitlines()
    rows = (line.partition("\t") for line in lines if not line.startswith("#"))
    return [(code, phrase) for code, _, some in rows for phrase in some.split(" | ")]


def _phrases(folder: Path, table: CodeTable, settings: SystemSettings) -> Examples:
    dataset = Dataset(table)
    own = phrases(table.system)
    dataset.read([phrase for _, phrase in own], [code for code, _ in own])
    for rows in settings.phrases:
        columns = [rows.code, *rows.where]
        for texts, found in batches(folder / rows.file, rows.text, columns):
            pairs = [
                (part.strip(), row[rows.code])
                for text, row in zip(texts, found.to_pylist(), strict=True)
                for part in (text.split(rows.split) if rows.split else [text])
                if all(row[name] == value for name, value in rows.where.items())
            ]
            dataset.read([text for text, _ in pairs], [code for _, code in pairs])
    return dataset.examples()


def batches(
    path: Path, text: Sequence[str], columns: Sequence[str]
) -> Iterator[tuple[Sequence[str], pa.RecordBatch]]:
    """Yield the texts and the other columns of each batch of a file."""
    reader = open_reader(path, text)
    missing = [name for name in columns if name not in reader.schema.names]
    if missing:
        raise InputError(f"{path} has no column {missing[0]!r}.", "Name its columns in the recipe.")
    for batch in reader.batches():
        yield batch.texts, batch.to_arrow().select(list(columns))


def _weights(sources: Sequence[str], settings: SystemSettings) -> Floats:
    """Return the weight of each row."""
    _, source, rows = np.unique(np.array(sources), return_inverse=True, return_counts=True)
    weights: Floats = np.minimum(1, settings.most_of_a_source / rows[source]).astype(np.float32)
    return weights
