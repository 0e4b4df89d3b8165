"""The settings of a job, each with its default and its check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from pipeline.answers import SYSTEMS, System
from pipeline.bands import LIKELY
from pipeline.checks import check_flag, fraction, option_name, whole_number
from pipeline.errors import SettingsError
from pipeline.languages import checked_language
from pipeline.processes import Jobs, checked_jobs
from pipeline.python_messages import answering_names

__all__ = [
    "ENGINES",
    "FORMATS",
    "KEY_VARIABLE",
    "MAX_TOP",
    "TEXT_COLUMNS",
    "CsvOptions",
    "EngineName",
    "ExcelOptions",
    "Format",
    "Settings",
    "parse_system",
    "parse_systems",
]

Format: TypeAlias = Literal["csv", "parquet", "jsonl", "xlsx", "ocds"]
FORMATS: tuple[Format, ...] = ("csv", "parquet", "jsonl", "xlsx", "ocds")

EngineName: TypeAlias = Literal["learned", "lexical"]
ENGINES: tuple[EngineName, ...] = ("learned", "lexical")

TEXT_COLUMNS = ("description",)

KEY_VARIABLE = "TENDER_PIPELINE_API_KEY"
"""The environment variable with the key of a paid service."""

SYSTEMS_HINT = f"Choose from {', '.join(SYSTEMS)} (--systems)."

MAX_TOP = 10
"""The most matches that the embedded engine returns, like the service."""

MATCHES_TO_ROLL_UP = 20  # further matches hardly add to a sum


@answering_names
@dataclass(frozen=True, slots=True)
class CsvOptions:
    """The dialect of a CSV file; None means "detected".

    Attributes:
        delimiter: one character, or the word ``tab``.
        encoding: the name of a Python codec; detected by a byte order mark, else UTF-8.
        line_end: ``lf``, ``crlf`` or ``cr``.
        quote_escape: how a quote inside a quoted field is written: ``double`` for two quotes,
            ``backslash`` for a backslash before it.
        header: whether the first record names the columns; else they are ``1``, ``2``, ...
        header_row: the number of the line with the column names, from 1; the lines above it stay.
    """

    delimiter: str | None = None
    encoding: str | None = None
    line_end: Literal["lf", "crlf", "cr"] | None = None
    quote_escape: Literal["double", "backslash"] = "double"
    header: bool = True
    header_row: int | None = None

    def __post_init__(self) -> None:
        if self.delimiter in ("tab", "\\t"):
            object.__setattr__(self, "delimiter", "\t")
        if self.delimiter is not None:
            _check_delimiter(self.delimiter)
        if self.encoding is not None:
            _check_encoding(self.encoding)
        if self.line_end is not None:
            _check_choice("line_end", self.line_end, ("lf", "crlf", "cr"))
        _check_choice("quote_escape", self.quote_escape, ("double", "backslash"))
        check_flag("header", self.header)
        if self.header_row is not None:
            row = whole_number("header_row", self.header_row, 1)
            object.__setattr__(self, "header_row", row)
            message = "There is no header (--no-header), but a row of it (--header-row)."
            _check(self.header, message, "Leave out one of them.")


@answering_names
@dataclass(frozen=True, slots=True)
class ExcelOptions:
    """Where the table is in an Excel workbook; None means "detected".

    Attributes:
        sheet: the name of the sheet, or its number, from 1.
        header_row: the number of the row with the column names, from 1.
    """

    sheet: str | None = None
    header_row: int | None = None

    def __post_init__(self) -> None:
        hint = "sheet must be the name of a sheet, or its number as text (--sheet)."
        _check(self.sheet is None or isinstance(self.sheet, str), f"sheet is {self.sheet!r}.", hint)
        if self.header_row is not None:
            row = whole_number("header_row", self.header_row, 1)
            object.__setattr__(self, "header_row", row)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one job, for a table from any source.

    Attributes:
        systems: the classification systems, each at most once.
        text_columns: the columns whose values, joined by ". ", are the text to classify.
        top: how many matches a row gets; more than one adds ``<system>_matches``.
        min_confidence: mark a best match under this ``review``; 0 marks none, and None those under
            `pipeline.bands.LIKELY`.
        roll_up: replace a best match under this by the deepest code above it that reaches it; None
            never does.
        jobs: how many processes the embedded engine uses; ``auto`` decides by the table's size.
        column_prefix: a prefix for the name of every new column.
        limit_rows: read only this many rows.
        models: the folders of learned models that replace the package's, with the SHA-256 of each.
        engine: ``learned`` for the learned models, ``lexical`` for the titles of the codes alone.
        explain: whether to add ``<system>_why``: the words that decided the best match.
        fail_if_no_match: the largest share of a system's rows with text that may have no match;
            None for all.
        language: the language of the CPV titles; the other systems have English titles only.
        decisions: the files of decisions that replace answers, with the SHA-256 of each.
    """

    systems: tuple[System, ...] = SYSTEMS
    text_columns: tuple[str, ...] = TEXT_COLUMNS
    top: int = 1
    min_confidence: float | None = None
    roll_up: float | None = None
    jobs: Jobs = 1
    column_prefix: str = ""
    limit_rows: int | None = None
    models: Mapping[str, str] = field(default_factory=dict)
    engine: EngineName = "learned"
    explain: bool = False
    fail_if_no_match: float | None = None
    language: str = "en"
    decisions: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        checked = {
            "systems": parse_systems(self.systems),
            "text_columns": _text_columns(self.text_columns),
            "top": whole_number("top", self.top, 1, MAX_TOP),
            "jobs": checked_jobs(self.jobs),
            "language": checked_language(self.language),
        }
        for name in ("min_confidence", "fail_if_no_match", "roll_up"):
            if (value := getattr(self, name)) is not None:
                checked[name] = fraction(name, value, over_zero=name == "roll_up")
        if self.limit_rows is not None:
            checked["limit_rows"] = whole_number("limit_rows", self.limit_rows, 0)
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        _check(
            isinstance(self.column_prefix, str),
            f"column_prefix is {self.column_prefix!r}.",
            "column_prefix must be text; empty for none (--column-prefix).",
        )
        check_flag("explain", self.explain)
        _check_choice("engine", self.engine, ENGINES)
        _check(
            not (self.models and self.engine == "lexical"),
            "The lexical engine uses titles, not models.",
            "Leave the model out (--model), or use it: --engine learned.",
        )

    @property
    def matches_wanted(self) -> int:
        """How many matches to ask for; rolling up adds many small confidences."""
        return self.top if self.roll_up is None else max(self.top, MATCHES_TO_ROLL_UP)

    @property
    def measured(self) -> bool:
        """Whether the shipped models answer, for which `pipeline.bands.MEASURED` holds."""
        return self.engine == "learned" and not self.models and self.roll_up is None

    def review_under(self, system: System) -> float:
        """Return the confidence under which a system's answers are marked ``review``."""
        least = LIKELY[system] if self.min_confidence is None else self.min_confidence
        return max(least, self.roll_up or 0.0)

    def for_service(self) -> Settings:
        """Return these settings for a paid service: without a default `min_confidence`.

        Raises:
            SettingsError: a setting is for the embedded engine only.
        """
        asked = {
            "model": bool(self.models),
            "engine": self.engine != "learned",
            "explain": self.explain,
        }
        for name in (name for name, wanted in asked.items() if wanted):
            raise SettingsError(
                f"{option_name(name)} is for the embedded engine, not for a paid service.",
                f"Remove {option_name(name)}, or the service (--base-url).",
            )
        return replace(self, min_confidence=self.min_confidence or 0.0)


def parse_systems(systems: str | Sequence[str]) -> tuple[System, ...]:
    """Return the systems in ``"cpv, NAICS"`` or a list of names, in the same order.

    Raises:
        SettingsError: a name is unknown or occurs twice, or there is none.
    """
    names = systems
    if isinstance(systems, str):
        names = [name for name in systems.split(",") if name.strip()]
    found = [_system(name) for name in _names("systems", names)]
    _check(bool(found), "No system is chosen.", SYSTEMS_HINT)
    _check(len(set(found)) == len(found), "A system is chosen twice.", "Name each system once.")
    return tuple(found)


def parse_system(system: str | Sequence[str] | None) -> System:
    """Return the one system in a name or a list.

    Raises:
        SettingsError: the name is missing or unknown, or there are several.
    """
    found = parse_systems(system or ())
    _check(len(found) == 1, f"system is {system!r}.", "Give one system (--system).")
    return found[0]


def _system(name: str) -> System:
    for system in SYSTEMS:
        if name.strip().lower() == system:
            return system
    raise SettingsError(f"There is no system {name!r}.", SYSTEMS_HINT)


def _text_columns(given: Any) -> tuple[str, ...]:
    names = _names("text_columns", given)
    hint = "text_columns must name the columns that hold the text (--text-column NAME)."
    _check(bool(names), "No text column is named.", hint)
    hint = "text_columns must name each column once (--text-column)."
    _check(len(set(names)) == len(names), "A text column is named twice.", hint)
    return names


def _names(name: str, given: Any) -> tuple[str, ...]:
    """Return a name, or several, as a tuple."""
    message = f"{name} is {given!r}."
    as_text = f": {str(given)!r}" if isinstance(given, int) else ""  # a name that pandas may make
    hint = f"{name} must be a name or a list of names, as text{as_text}."
    try:
        names: tuple[Any, ...] = (given,) if isinstance(given, str) else tuple(given)
    except TypeError as error:
        raise SettingsError(message, hint) from error
    _check(all(isinstance(each, str) for each in names), message, hint)
    return names


def _check(holds: bool, message: str, hint: str) -> None:
    if not holds:
        raise SettingsError(message, hint)


def _check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    _check(
        value in choices,
        f"{name} is {value!r}.",
        f"{name} must be one of {', '.join(choices)} ({option_name(name)}).",
    )


def _check_delimiter(delimiter: object) -> None:
    right = isinstance(delimiter, str) and len(delimiter) == 1 and delimiter not in '"\\\r\n \0'
    _check(
        right,
        f"The delimiter {delimiter!r} cannot separate fields.",
        "Give one character, such as ';' or '|', or the word tab (--delimiter).",
    )


def _check_encoding(name: str) -> None:
    try:
        "".encode(name)
        b"".decode(name)
    except (LookupError, ValueError, TypeError) as error:
        raise SettingsError(
            f"Python knows no text encoding {name!r}.",
            "encoding must be a name such as utf-8, cp1252, latin-1 or utf-16 (--encoding).",
        ) from error
