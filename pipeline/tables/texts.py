"""Finds the text columns, also in JSON in cells, and joins their values to the text to classify."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches
from pathlib import Path

from pipeline.errors import InputError
from pipeline.tables.json_records import DECODER, json_error, texts_at
from pipeline.wording import LONGEST, listed, marked, option, quoted

log = logging.getLogger(__name__)

ARGUMENT = "text_columns"
"""The argument that names text columns; other columns have others."""

NO_GUESS = "Choose one of them"
"""The beginning of what to do about a missing column if no other has a similar name."""

NESTED = "Only a text column can be nested. Copy the values into a column of their own."

ALIKE = 0.6
"""The similarity from which a name is taken for a misspelling of another, from 0 to 1: descr of
description has 0.63."""

INVISIBLE = dict.fromkeys(map(ord, "\u200b\u2060\ufeff"))
"""Characters without a width that are in some names, such as a second byte order mark."""

NO_TEXT = re.compile(
    r"(?:(?:null|\(null\)|<null>|none|nil|nan|n/?a|n\.a\.|#n/a|<na>|undefined|tb[acd]|[-‐‑–—_.?/]+)"  # noqa: RUF001
    r"(?:\. |$))+",
    re.IGNORECASE,
)
"""What programs and people write where they have no text, alone or joined by ". "."""


def join_texts(values: Iterable[str | None]) -> str:
    """Return the text of a row: its parts, joined; "" if they only say that there is none.

    NULL or N/A is no text, but stays beside other parts, since answers may be owned for such texts.
    """
    text = join_parts(values)
    return "" if NO_TEXT.fullmatch(text) else text


def join_parts(values: Iterable[str | None]) -> str:
    """Join parts of a text with ". ", collapsing white space and skipping empty ones."""
    parts = [" ".join(value.split()) for value in values if value]
    return ". ".join([part for part in parts if part])


def encodable(texts: Sequence[str]) -> Sequence[str]:
    """Return texts with "?" for unpaired surrogates, which UTF-8 cannot encode."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        return [text.encode("utf-8", "replace").decode() for text in texts]
    return texts


def find_columns(names: Sequence[str], text_columns: Sequence[str], table: Path | str) -> list[int]:
    """Return the positions of text columns; see `find_all`."""
    return find_all(names, [(ARGUMENT, name) for name in text_columns], table)


def find_all(
    names: Sequence[str], columns: Sequence[tuple[str, str]], table: Path | str
) -> list[int]:
    """Return the positions of columns, each given by the argument that names it, and its name.

    Raises:
        InputError: columns are missing, all of which it names, or several have the same name, or
            Arrow cannot hold a name.
    """
    indices = [_named(names, name) for _, name in columns]
    missing = [column for column, matching in zip(columns, indices, strict=True) if not matching]
    if missing and not any(map(one_line, names)):
        raise InputError(
            f"{table} has no columns with a name.", "Give a table with a column of texts."
        )
    if missing:
        cause = MissingError(names, missing, table)
        raise InputError(cause.message, " ".join(cause.hints)) from cause
    for (_, name), matching in zip(columns, indices, strict=True):
        if len(matching) > 1:
            raise InputError(
                f"{table} has {len(matching)} columns named {quoted(name)}.",
                "Rename all but one of them.",
            )
    check_names([names[index] for (index,) in indices], table)
    return [index for (index,) in indices]


def check_names(names: Iterable[str], table: Path | str) -> None:
    """Refuse names of columns that Arrow cannot hold.

    Raises:
        InputError: a name has an unpaired surrogate.
    """
    try:
        "".join(names).encode()
    except UnicodeEncodeError as error:
        half = f"U+{ord(error.object[error.start]):04X}"
        raise InputError(
            f"{table}: the name of a column has an unpaired surrogate, {half}.",
            "Rename the column.",
        ) from error


class MissingError(LookupError):
    """Columns that a table lacks: the cause of the error, whose own class users know.

    Attributes:
        hints: what to do about each, and whether it holds texts.
        message: the message of the error.
    """

    def __init__(
        self, names: Sequence[str], missing: Sequence[tuple[str, str]], table: Path | str
    ) -> None:
        super().__init__(names, missing, table)
        there = [*map(one_line, names)]
        self.hints = {_suggestion(there, name, arg): arg == ARGUMENT for arg, name in missing}
        absent = " and ".join(f"no column {quoted(name)}" for _, name in missing)
        self.message = f"{table} has {absent}. Its columns: {listed([*filter(None, there)])}."


@contextmanager
def naming_all(needed: Iterable[tuple[str, str]]) -> Iterator[None]:
    """Let the error about missing text columns name other columns that are missing, too."""
    try:
        yield
    except InputError as error:
        if isinstance(error.__cause__, MissingError):
            names, missing, table = error.__cause__.args
            also_missing = [
                column
                for column in needed
                if column not in missing and not _named(names, column[1])
            ]
            error.message = MissingError(names, [*missing, *also_missing], table).message
            hints = MissingError(names, also_missing, table).hints
            error.hint = " ".join([marked(error.hint), *hints])
        raise


def one_line(name: str) -> str:
    """Return the name of a column as people write it: trimmed, and white space made one blank."""
    return " ".join(name.translate(INVISIBLE).split())


def own_name(names: Collection[str], column: str) -> str | None:
    """Return a column's name as it is in the table; None if no column, or several, have it."""
    if column in names:
        return column
    matching = _named([*names], column)
    return [*names][matching[0]] if len(matching) == 1 else None


def has_all(names: Collection[str], columns: Iterable[str]) -> bool:
    """Return whether a table has all wanted columns."""
    return all(own_name(names, name) is not None for name in columns)


def _named(names: Sequence[str], column: str) -> list[int]:
    """Return the positions of the columns with a name, apart from white space if need be.

    Names in files have blanks at their ends and line breaks, which no error can show.
    """
    exact = [index for index, name in enumerate(names) if name == column]
    plain = one_line(column)
    return exact or [index for index, name in enumerate(names) if one_line(name) == plain]


def check_absent(
    names: Sequence[str], absent: Sequence[str], columns: Sequence[str], table: Path | str
) -> None:
    """Refuse text columns that no row has, or warn of them if other text columns are there.

    These are the absent ones of all that are wanted; ``names`` are the columns that there are.
    All records of a small file may lack an optional field. A name like that of another column is
    refused nevertheless, since answers for texts without it may be bought.

    Raises:
        InputError: no text column is there, or one is misspelt.
    """
    other_names = [name for name in names if name not in columns]
    for name in absent:
        if len(absent) == len(columns) or any(_is_like(name, other) for other in other_names):
            find_columns(names, [name], table)
    for name in absent:
        log.warning("%s: no row has the text column %s.", table, quoted(name))


def guess(argument: str, name: str) -> str:
    """Return the suggestion of a column."""
    return f"Did you mean {name!r}? Use {option(argument, repr(name))}."


def _is_like(one: str, other: str) -> bool:
    """Return whether the parts of two dotted names are alike."""
    pairs = [*zip(one.casefold().split("."), other.casefold().split("."), strict=False)]
    is_as_deep = one.count(".") == other.count(".")
    return is_as_deep and all(SequenceMatcher(None, *pair).ratio() >= ALIKE for pair in pairs)


def _suggestion(names: Sequence[str], column: str, argument: str) -> str:
    several = [name.strip() for name in column.split(",")]
    if argument == ARGUMENT and len(several) > 1 and has_all(names, several):
        return f"Name each column: {option('text_columns', *map(repr, several))}."
    short = [name for name in names if name.strip() and len(name) <= LONGEST]
    folded = {name.strip().casefold(): name for name in reversed(short)}
    parent, dot, field = column.casefold().rpartition(".")
    alike = [known for known in folded if dot and _is_like(known, column)]
    # A field may be named without its column, which would itself be like any field in it.
    other_names = [known for known in folded if known != parent]
    parts = {known.rpartition(".")[2]: known for known in reversed(other_names)}
    parts |= {known.removeprefix(parent + dot): known for known in other_names}
    close = get_close_matches(column.casefold(), alike, n=1, cutoff=0) or [
        parts[known] for known in get_close_matches(field, parts, n=1, cutoff=ALIKE)
    ]
    is_within = any(column.startswith(f"{known}.") for known in short)
    if argument != ARGUMENT and is_within and not alike:
        return NESTED
    return (
        guess(argument, folded[close[0]]) if close else f"{NO_GUESS}: {option(argument, 'NAME')}."
    )


@dataclass(frozen=True, slots=True)
class TextColumn:
    """A column with text, or a field of a nested one.

    Attributes:
        place: the position of the column.
        column: its name; that of a field has dots, such as ``tender.title``.
        path: the field in the JSON of its cells, such as ``title``; "" for the cell itself.
        within: the positions of the field and of those around it in a type, from the outside.
    """

    place: int
    column: str
    path: str = ""
    within: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """The name of the text column, such as ``tender.title``."""
        return f"{self.column}.{self.path}" if self.path else self.column

    def of(self, cell: str | None) -> str | None:
        """Return the text in a cell of the column; the items of a list are joined.

        Raises:
            InputError: the cell holds no JSON with such fields.
        """
        if not self.path or not cell or cell.isspace():
            return cell
        try:
            value = DECODER.decode(cell)
            if isinstance(value, str | bool):
                raise ValueError(f"{quoted(cell)} is a single value")
            return encodable([join_parts(texts_at({self.column: value}, self.name) or ())])[0]
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"{quoted(self.name)} cannot be read from the JSON in column "
                f"{quoted(self.column)}: {json_error(error)}.",
                "If the column itself is the text, name it: "
                f"{option('text_columns', repr(self.column))}.",
            ) from error


def find_cell_texts(
    names: Sequence[str],
    text_columns: Sequence[str],
    table: Path | str,
    may_hold: Collection[str] | None = None,
) -> list[TextColumn]:
    """Return where the texts are; ``tender.title`` may be in the JSON of the column ``tender``.

    Only the columns that ``may_hold`` JSON are looked into; None for all.

    Raises:
        InputError: a column is missing, or several have its name.
    """
    may_hold = names if may_hold is None else may_hold
    split = [_split(names, name, may_hold) for name in text_columns]
    indices = find_columns(names, [column for column, _ in split], table)
    return [
        TextColumn(index, column, path)
        for index, (column, path) in zip(indices, split, strict=True)
    ]


def holders(names: Sequence[str], text_columns: Iterable[str]) -> list[str]:
    """Return the column that each text is in, as the table names it; the wanted name without one.

    ``tender.title`` may be in the column ``tender``.
    """
    return [_split(names, name, names)[0] for name in text_columns]


def _split(names: Sequence[str], text_column: str, may_hold: Collection[str]) -> tuple[str, str]:
    """Split a wanted name into that of a column and of a field in it; the field is often ""."""
    if whole := own_name(names, text_column):
        return whole, ""
    column, dot, path = text_column.rpartition(".")
    while dot and own_name(may_hold, column) is None:
        column, dot, _ = column.rpartition(".")
        path = text_column[len(column) + 1 :]
    return (own_name(may_hold, column) or column, path) if dot else (text_column, "")
