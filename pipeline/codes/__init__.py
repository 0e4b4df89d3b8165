"""Code tables: the codes, titles and trees of the four systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pipeline.answers import System
from pipeline.arguments import public
from pipeline.codes.added import added, added_digest, remove
from pipeline.codes.normalization import find_code, normalized, spellings
from pipeline.codes.shipped import (
    Retired,
    counterparts,
    cpv_titles,
    retired,
    retirements,
    shipped,
    titles_in,
    translations,
)
from pipeline.codes.table import CodeTable, stem
from pipeline.settings import checked_language, parse_system

if TYPE_CHECKING:  # pandas is slow to import, and most commands do not need it
    import pandas as pd

__all__ = [
    "CodeTable",
    "Retired",
    "above",
    "added_digest",
    "code_table",
    "counterparts",
    "cpv_titles",
    "find_code",
    "load",
    "normalized",
    "remove",
    "retired",
    "retirements",
    "shipped",
    "spellings",
    "titles",
    "titles_by_language",
    "titles_in",
    "titles_of",
]


def load(system: System) -> CodeTable:
    """Return the table of a system: the one that the user added, else the shipped one."""
    return added(system) or shipped(system)


def titles(system: System, language: str) -> Mapping[str, str]:
    """Return the titles of a system by code: those of the CPV in a language, others in English."""
    return titles_in(language) if system == "cpv" else load(system).titles


def above(system: System, code: str, language: str) -> list[tuple[str, str]]:
    """Return the codes above a code, from the top: each as short as people write it, and its title.

    There are none above a code that the table lacks.
    """
    table, shown = load(system), titles(system, language)
    codes = reversed(table.ancestors(code)) if code in table else ()
    return [(each if "-" in each else stem(system, each), shown[each]) for each in codes]


def titles_by_language(table: CodeTable) -> Sequence[Sequence[str]]:
    """Return one list of titles per language, English first, each in the order of the table."""
    if table.system == "cpv":
        return list(cpv_titles().values())
    return [list(table.titles.values())]


def titles_of(table: CodeTable, indices: Sequence[int]) -> list[tuple[str, ...]]:
    """Return the titles of some codes in all languages, given their places in the table."""
    english = [*table.titles.values()]
    # Of 220,000 titles, most runs need few. To take these, pyarrow.compute is slow to import.
    others = [column.chunk(0) for column in translations().columns] if table.system == "cpv" else []
    return [(english[index], *(titles[index].as_py() for titles in others)) for index in indices]


@public
def code_table(system: str, *, language: str = "en") -> pd.DataFrame:
    """Return all codes of a system with their titles and the codes above them.

    The index is the code. The columns are ``title``, ``level`` (such as ``division``) and one for
    each level: for CPV ``division``, ``group``, ``class``, ``category`` and ``subcategory``. Such a
    column has the code at that level that contains the row's code, or null.

    Args:
        system: ``cpv``, ``psc``, ``unspsc`` or ``naics``; of UNSPSC, the table that you added, if
            there is one.
        language: the language of the CPV titles, such as ``de``; the other systems have English
            titles only.

    Raises:
        SettingsError: there is no such system, or it has no titles in that language.
    """
    import pandas as pd

    name, spoken = parse_system(system), checked_language(language)
    table = load(name)
    shown = titles(name, spoken)
    codes = list(table.titles)
    lines = [
        {"title": shown[code], "level": table.level(code), **_by_level(table, code)}
        for code in codes
    ]
    index = pd.Index(codes, dtype="string", name="code")
    frame = pd.DataFrame(lines, index, ["title", "level", *table.counts], dtype="string")
    return frame.astype({"level": pd.CategoricalDtype([*table.counts], ordered=True)})


def _by_level(table: CodeTable, code: str) -> dict[str, str]:
    """Return a code and those above it by their levels."""
    return {table.level(parent): parent for parent in (code, *table.ancestors(code))}
