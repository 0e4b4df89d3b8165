"""The matches of a result with a row each, and the words that decided the best ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.answers import System
from pipeline.classification.classifier import Classifier
from pipeline.classification.columns import MATCHES
from pipeline.engine.model import opened
from pipeline.errors import SettingsError
from pipeline.quoting import cut
from pipeline.settings import Settings

__all__ = ["explained", "long_table", "places_of"]

PARTS = ("code", "title", "confidence")


def long_table(new: pa.Table, settings: Settings, labels: Sequence[object]) -> pd.DataFrame:
    """Return one row for each match, the best first."""
    prefix, several = settings.column_prefix, settings.top > 1
    parts = [_matches(new, system, prefix, several) for system in settings.systems]
    found: pd.DataFrame = pa.concat_tables(parts).to_pandas()
    found = found.iloc[np.argsort(found["place"], kind="stable")]
    found = found.assign(row=[labels[place] for place in found["place"]])
    return found[["row", "system", "rank", *PARTS]].reset_index(drop=True)


def places_of(row: object, labels: Sequence[object]) -> Sequence[int]:
    """Return the positions of the rows with a label; there is at least one.

    Raises:
        SettingsError: no row has it.
    """
    if not labels:
        raise SettingsError("The table has no rows.", "Classify one with at least one row.")
    with suppress(TypeError):  # it cannot be hashed
        wanted = frozenset([row])
        if places := [place for place, label in enumerate(labels) if label in wanted]:
            return places
    must = (
        f"a position from 0 to {len(labels) - 1}"
        if isinstance(labels, range)
        else f"a label of the frame's index, such as {cut(repr(labels[0]))}"
    )
    raise SettingsError(f"row is {cut(repr(row))}.", f"row must be {must}.")


def explained(texts: pd.Series[str], new: pa.Table, settings: Settings) -> pd.DataFrame:
    """Return the best match of each system for some texts, with the words that decided it.

    What a person decided is taken from ``new``, the new columns of their rows. The index labels of
    the texts become the column ``row``.
    """
    prefix = settings.column_prefix
    settings = replace(settings, explain=True, limit_rows=None, column_prefix="")
    settings = replace(settings, text_columns=("text",), top=1)
    models = opened([*settings.models], settings.systems)
    found = Classifier.of(settings, models)(pa.table({"text": texts.to_list()})).to_pylist()
    parts = (*PARTS, "status", "why")
    lines = []
    for label, own, line in zip(texts.index, new.to_pylist(), found, strict=True):
        for system in settings.systems:
            decided = own[f"{prefix}{system}_status"] == "decided"
            row, name = (own, prefix + system) if decided else (line, system)
            lines.append((label, system, *(row.get(f"{name}_{part}") for part in parts)))
    return pd.DataFrame(lines, columns=["row", "system", *parts])


def _matches(new: pa.Table, system: System, prefix: str, several: bool) -> pa.Table:
    """Return the matches of a system by place, the best first."""
    name = prefix + system
    if several:
        lists = _lists(new[f"{name}_matches"])
        places = pc.list_parent_indices(lists).to_numpy()
        found = pa.Table.from_struct_array(pc.list_flatten(lists))
    else:
        best = new.select([f"{name}_{part}" for part in PARTS]).rename_columns([*PARTS])
        known = best["code"].is_valid()
        places, found = np.flatnonzero(known), best.filter(known)
    rank = np.arange(len(places)) - np.searchsorted(places, places) + 1
    columns = {"place": places, "system": pa.repeat(system, len(places)), "rank": rank}
    return pa.table(columns | {part: found[part] for part in PARTS})


def _lists(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the lists of matches, which are JSON in a column of text."""
    if pa.types.is_list(column.type):
        return column
    lists = [json.loads(cell) if cell else None for cell in column.to_pylist()]
    return pa.chunked_array([pa.array(lists, MATCHES)])
