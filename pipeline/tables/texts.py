"""Which columns hold the text, and how their values become the text that is sent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

from pipeline.errors import InputError

__all__ = ["find_columns", "join_texts"]

NAMES_SHOWN = 30


def join_texts(values: Iterable[str | None]) -> str:
    """Join the text columns of one row: white space made single, empty values left out."""
    parts = (" ".join(value.split()) for value in values if value)
    return ". ".join(part for part in parts if part)


def find_columns(names: Sequence[str], wanted: Sequence[str], table: Path | str) -> list[int]:
    """Return where the wanted columns stand.

    Raises:
        InputError: a column is not there, or more than one has its name.
    """
    return [_find(names, name, table) for name in wanted]


def _find(names: Sequence[str], wanted: str, table: Path | str) -> int:
    places = [place for place, name in enumerate(names) if name == wanted]
    if len(places) == 1:
        return places[0]
    if places:
        raise InputError(
            f"{table} has {len(places)} columns named {wanted!r}.",
            "Rename all but one of them.",
        )
    raise InputError(
        f"{table} has no column {wanted!r}. Its columns: {_listed(names)}.",
        _suggestion(names, wanted),
    )


def _suggestion(names: Sequence[str], wanted: str) -> str:
    folded = {name.strip().casefold(): name for name in reversed(names)}
    close = get_close_matches(wanted.casefold(), folded, n=1, cutoff=0.0)
    if not close:
        return "Name the column that holds the text: --text-column NAME."
    return f"Did you mean {folded[close[0]]!r}? Say so: --text-column {folded[close[0]]!r}."


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:NAMES_SHOWN])
    more = len(names) - NAMES_SHOWN
    return f"{shown} and {more:,} more" if more > 0 else shown
