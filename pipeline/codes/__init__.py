"""Code tables: the codes, titles and trees of the four systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipeline.answers import System
from pipeline.codes.added import added, added_digest, remove
from pipeline.codes.normalization import find_code, normalized, spellings
from pipeline.codes.shipped import (
    Retired,
    counterparts,
    cpv_titles,
    phrases,
    retired,
    retirements,
    shipped,
    titles_in,
)
from pipeline.codes.table import CodeTable

__all__ = [
    "CodeTable",
    "Retired",
    "added_digest",
    "counterparts",
    "cpv_titles",
    "find_code",
    "load",
    "normalized",
    "phrases",
    "remove",
    "retired",
    "retirements",
    "shipped",
    "spellings",
    "titles",
    "titles_by_language",
    "titles_in",
]


def load(system: System) -> CodeTable:
    """Return the table of a system: the one that the user added, else the shipped one."""
    return added(system) or shipped(system)


def titles(system: System, language: str) -> Mapping[str, str]:
    """Return the titles of a system by code: those of the CPV in a language, others in English."""
    return titles_in(language) if system == "cpv" else load(system).titles


def titles_by_language(table: CodeTable) -> Sequence[Sequence[str]]:
    """Return one list of titles per language, English first, each in the order of the table."""
    if table.system == "cpv":
        return list(cpv_titles().values())
    return [list(table.titles.values())]
