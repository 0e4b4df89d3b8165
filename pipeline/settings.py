"""What a user can set, with its default and its check in one place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pipeline.answers import SYSTEMS, System
from pipeline.errors import SettingsError

__all__ = ["FORMATS", "CsvOptions", "Format", "Settings", "parse_systems"]

Format: TypeAlias = Literal["csv", "parquet"]
FORMATS: tuple[Format, ...] = ("csv", "parquet")

MAX_TOP = 10
"""The embedded engine, like the service, never gives more matches than this."""


@dataclass(frozen=True, slots=True)
class CsvOptions:
    """How a CSV file is written; None means "found out from the file".

    Attributes:
        delimiter: one character, or the word ``tab``.
        encoding: a Python codec name; found out: a byte order mark, else UTF-8.
        line_end: ``lf``, ``crlf`` or ``cr``.
        quote_escape: how a quote inside a quoted field is written: ``double``, that is twice,
            or ``backslash``, with a backslash before it.
        header: whether the first record names the columns; without one they are called
            ``1``, ``2``, ...
    """

    delimiter: str | None = None
    encoding: str | None = None
    line_end: Literal["lf", "crlf", "cr"] | None = None
    quote_escape: Literal["double", "backslash"] = "double"
    header: bool = True

    def __post_init__(self) -> None:
        if self.delimiter in ("tab", "\\t"):
            object.__setattr__(self, "delimiter", "\t")
        if self.delimiter is not None and (
            len(self.delimiter) != 1 or self.delimiter in '"\\\r\n \0'
        ):
            raise SettingsError(
                f"The delimiter {self.delimiter!r} cannot separate fields.",
                "Give one character, such as ';' or '|', or the word tab.",
            )
        if self.encoding is not None:
            _check_encoding(self.encoding)


@dataclass(frozen=True, slots=True)
class Settings:
    """What one job does with a table, wherever the table comes from.

    Attributes:
        systems: the classification systems, each at most once.
        text_columns: the columns whose values, joined by ". ", are the text to classify.
        top: how many matches a row gets; more than one adds ``<system>_matches``.
        min_confidence: a best match under this is marked ``review``; 0 marks none.
        jobs: how many processes the embedded engine uses.
        column_prefix: put before the name of every column that is added.
        limit_rows: read no more than this many rows.
    """

    systems: tuple[System, ...] = SYSTEMS
    text_columns: tuple[str, ...] = ("description",)
    top: int = 1
    min_confidence: float = 0.0
    jobs: int = 1
    column_prefix: str = ""
    limit_rows: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "systems", parse_systems(self.systems))
        _check(bool(self.text_columns), "No text column is named.", "Name one: --text-column NAME.")
        _check(
            len(set(self.text_columns)) == len(self.text_columns),
            "A text column is named twice.",
            "Name each --text-column once.",
        )
        _check(
            1 <= self.top <= MAX_TOP,
            f"top is {self.top}.",
            f"Give --top a whole number from 1 to {MAX_TOP}.",
        )
        _check(
            0.0 <= self.min_confidence <= 1.0,
            f"min_confidence is {self.min_confidence}.",
            "Give --min-confidence a fraction from 0 to 1, such as 0.5.",
        )
        _check(self.jobs >= 1, f"jobs is {self.jobs}.", "Give --jobs a whole number from 1.")
        _check(
            self.limit_rows is None or self.limit_rows >= 0,
            f"limit_rows is {self.limit_rows}.",
            "Give --limit-rows a whole number from 0.",
        )


def parse_systems(systems: str | Sequence[str]) -> tuple[System, ...]:
    """Turn ``"cpv, NAICS"`` or a list of names into systems, in the order given.

    Raises:
        SettingsError: a name is unknown or stands twice, or there is none.
    """
    names = systems.split(",") if isinstance(systems, str) else systems
    found = [_system(name) for name in names]
    _check(bool(found), "No system is chosen.", f"Choose from {', '.join(SYSTEMS)}.")
    _check(len(set(found)) == len(found), "A system is chosen twice.", "Name each system once.")
    return tuple(found)


def _system(name: str) -> System:
    for system in SYSTEMS:
        if name.strip().lower() == system:
            return system
    raise SettingsError(f"There is no system {name!r}.", f"Choose from {', '.join(SYSTEMS)}.")


def _check(holds: bool, message: str, hint: str) -> None:
    if not holds:
        raise SettingsError(message, hint)


def _check_encoding(name: str) -> None:
    try:
        "".encode(name)
        b"".decode(name)
    except (LookupError, UnicodeError, TypeError) as error:
        raise SettingsError(
            f"Python knows no text encoding {name!r}.",
            "Give --encoding a name such as utf-8, cp1252, latin-1 or utf-16.",
        ) from error
