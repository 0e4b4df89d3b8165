"""Reads a recipe: the files and settings for training the models of several systems together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path

import numpy as np
import pyarrow as pa

from pipeline.answers import System
from pipeline.codes import CodeTable, counterparts, phrases, shipped, titles_by_language
from pipeline.engine.model import general_model, load_model
from pipeline.engine.model.arrays import Floats
from pipeline.engine.training import Dataset, Examples, Recipe, Task
from pipeline.engine.training.judgements import read_judged
from pipeline.errors import InputError
from pipeline.tables import open_reader
from pipeline.training.recipe_settings import Blended, SystemSettings, read_settings

__all__ = ["Prepared", "read_recipe"]


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


def read_recipe(path: Path) -> tuple[Recipe, list[Prepared]]:
    """Read a recipe and all the files it names.

    With files of other texts, the models are blended with the package's general model, and a gate
    learns to tell those texts from the labelled ones.

    Returns:
        The settings of the networks, and the systems to train.

    Raises:
        SettingsError: the file is not a valid recipe.
        InputError: a file does not exist, or lacks a column.
    """
    read = read_settings(path)
    prepared = [_prepared(path.parent, system, each) for system, each in read.systems.items()]
    if read.blended is None:
        return read.recipe, prepared
    return read.recipe, _with_general(prepared, path.parent, read.systems, read.blended)


def _with_general(
    prepared: Sequence[Prepared],
    folder: Path,
    systems: Mapping[System, SystemSettings],
    blended: Blended,
) -> list[Prepared]:
    """Return the systems with the general model beside their own, and texts for the gate."""
    batches = (batch for name in blended.others for batch in _batches(folder / name, ["text"], ()))
    texts = [text for some, _ in batches for text in some]
    others = Examples.of(texts, [""] * len(texts))
    general = general_model()
    return [
        replace(
            each,
            task=replace(
                each.task,
                beside=load_model(general, each.task.system),
                others=others,
                cpv=load_model(general, "cpv") if systems[each.task.system].asks_cpv else None,
            ),
        )
        for each in prepared
    ]


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
        crosswalk=counterparts(system) if settings.learns_from_cpv or settings.asks_cpv else {},
        weight_of_cpv=settings.learns_from_cpv or settings.asks_cpv,
        remembers=settings.remembers,
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
        for texts, rows in _batches(folder / name, ["text"], ["code", "source"]):
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


def _phrases(folder: Path, table: CodeTable, settings: SystemSettings) -> Examples:
    dataset = Dataset(table)
    own = phrases(table.system)
    dataset.read([phrase for _, phrase in own], [code for code, _ in own])
    for rows in settings.phrases:
        columns = [rows.code, *rows.where]
        for texts, found in _batches(folder / rows.file, rows.text, columns):
            pairs = [
                (part.strip(), row[rows.code])
                for text, row in zip(texts, found.to_pylist(), strict=True)
                for part in (text.split(rows.split) if rows.split else [text])
                if all(row[name] == value for name, value in rows.where.items())
            ]
            dataset.read([text for text, _ in pairs], [code for _, code in pairs])
    return dataset.examples()


def _batches(
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
