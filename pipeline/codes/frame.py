"""A code table as a pandas frame, for grouping codes and looking up titles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipeline.answers import SYSTEMS
from pipeline.codes import load, titles
from pipeline.errors import SettingsError
from pipeline.public import public
from pipeline.settings import checked_language

if TYPE_CHECKING:  # pandas is slow to import, and most commands do not need it
    import pandas as pd

    from pipeline.codes.table import CodeTable

__all__ = ["code_table"]


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

    name = system.strip().lower() if isinstance(system, str) else system
    if name not in SYSTEMS:
        raise SettingsError(f"There is no system {system!r}.", f"Choose from {', '.join(SYSTEMS)}.")
    spoken = checked_language(language)
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
    return {table.level(each): each for each in (code, *table.ancestors(code))}
