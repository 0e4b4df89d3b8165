"""The matches of a result with a row each, and the words that decided the best ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pandas as pd
import pyarrow as pa

from pipeline.answers import System
from pipeline.classification.classifier import Classifier
from pipeline.engine.model import opened
from pipeline.errors import SettingsError
from pipeline.quoting import cut
from pipeline.settings import Settings

__all__ = ["explained", "long_table", "places_of"]

PARTS = ("code", "title", "confidence")


def long_table(new: pa.Table, settings: Settings, labels: Sequence[object]) -> pd.DataFrame:
    """Return one row for each match, the best first."""
    found = pd.concat(
        [_matches(new, settings, system) for system in settings.systems], ignore_index=True
    )
    found = found.sort_values(["place", "system_place", "rank"], kind="stable")
    found["row"] = [labels[place] for place in found["place"]]
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


def _matches(new: pa.Table, settings: Settings, system: System) -> pd.DataFrame:
    name = settings.column_prefix + system
    if settings.top > 1:
        lists = [_listed(value) for value in new[f"{name}_matches"].to_pylist()]
    else:
        best = zip(*(new[f"{name}_{part}"].to_pylist() for part in PARTS), strict=True)
        lists = [[dict(zip(PARTS, one, strict=True))] if one[0] else [] for one in best]
    order = settings.systems.index(system)
    return pd.DataFrame(
        [
            (place, order, system, rank, *(match[part] for part in PARTS))
            for place, matches in enumerate(lists)
            for rank, match in enumerate(matches, start=1)
        ],
        columns=["place", "system_place", "system", "rank", *PARTS],
    )


def _listed(matches: Any) -> list[dict[str, Any]]:
    """Return the matches of a row: a list in memory and in Parquet, JSON in a text file."""
    return json.loads(matches) if isinstance(matches, str) and matches else matches or []
