"""Which columns hold the text, and how their values become the text that is sent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

from pipeline.errors import InputError
from pipeline.quoting import LONGEST, listed, quoted

__all__ = ["check_names", "encodable", "find_column", "find_columns", "join_texts"]


def join_texts(values: Iterable[str | None]) -> str:
    """Join the text columns of one row: white space made single, empty values left out."""
    parts = (" ".join(value.split()) for value in values if value)
    return ". ".join(part for part in parts if part)


def encodable(texts: Sequence[str]) -> Sequence[str]:
    """Return texts without half characters, which UTF-8 cannot encode; each becomes "?"."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        return [text.encode("utf-8", "replace").decode() for text in texts]
    return texts


def check_names(names: Iterable[str], table: Path) -> None:
    """Refuse names of columns that Arrow cannot hold.

    Raises:
        InputError: one holds half a character.
    """
    for name in names:
        try:
            name.encode()
        except UnicodeEncodeError as error:
            raise InputError(
                f"{table}: the column name {quoted(name)} holds half a character, "
                f"U+{ord(name[error.start]):04X}.",
                "Rename the column, or give another --encoding.",
            ) from error


def find_columns(names: Sequence[str], wanted: Sequence[str], table: Path | str) -> list[int]:
    """Return where the wanted columns stand.

    Raises:
        InputError: a column is not there, or more than one has its name.
    """
    return [find_column(names, name, table, "--text-column") for name in wanted]


def find_column(names: Sequence[str], wanted: str, table: Path | str, option: str) -> int:
    """Return where a wanted column stands.

    Args:
        names: of the columns there are.
        wanted: the name that is looked for.
        table: what an error calls the table.
        option: what names the column, such as ``--text-column``.

    Raises:
        InputError: it is not there, or more than one has its name.
    """
    places = [place for place, name in enumerate(names) if name == wanted]
    if len(places) == 1:
        return places[0]
    if places:
        raise InputError(
            f"{table} has {len(places)} columns named {quoted(wanted)}.",
            "Rename all but one of them.",
        )
    raise InputError(
        f"{table} has no column {quoted(wanted)}. Its columns: {listed(names)}.",
        _suggestion(names, wanted, option),
    )


def _suggestion(names: Sequence[str], wanted: str, option: str) -> str:
    short = [name for name in names if name.strip() and len(name) <= LONGEST]
    folded = {name.strip().casefold(): name for name in reversed(short)}
    close = get_close_matches(wanted.casefold(), folded, n=1, cutoff=0.0)
    if not close:
        return f"Name the column that is meant: {option} NAME."
    return f"Did you mean {folded[close[0]]!r}? Say so: {option} {folded[close[0]]!r}."
