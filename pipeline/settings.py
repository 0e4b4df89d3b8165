"""The settings of a job and the options of its files, each with its default and its check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any, Literal, TypeAlias, get_args

from pipeline.answers import SYSTEMS, System
from pipeline.arguments import check_choice, check_flag, fraction, public_class, whole_number
from pipeline.errors import SettingsError
from pipeline.processes import Jobs
from pipeline.wording import beside, both, marked, option

TEXT_COLUMNS = ("description",)

KEY_VARIABLE = "TENDER_PIPELINE_API_KEY"
"""The environment variable with the key of a paid service."""

LEDGER_VARIABLE = "TENDER_PIPELINE_LEDGER"
"""The environment variable with the path of the ledger."""

SYSTEMS_HINT = f"Choose from {', '.join(SYSTEMS)}{beside('systems')}."

MAX_TOP = 10
"""The most matches that the embedded engine returns, like the service."""

MATCHES_TO_ROLL_UP = 20  # further matches hardly add to a sum


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one job, for a table from any source.

    Attributes:
        systems: the classification systems, each at most once.
        text_columns: the columns whose values, joined by ". ", are the text to classify.
        top: how many matches a row gets; more than one adds ``<system>_matches``.
        min_confidence: mark a best match under this ``review``; 0 marks none, and None those under
            the threshold of the model, which is `pipeline.answers.OK_FROM` for the package's.
        roll_up: replace a best match under this by the deepest code above it that reaches it; None
            never does.
        jobs: how many processes the embedded engine uses at most; ``auto``: all cores for a large
            table.
        column_prefix: a prefix for the name of every new column.
        limit_rows: read only this many rows.
        models: the folders of learned models that replace the package's, with the SHA-256 of each.
        explain: whether to add ``<system>_why``: the words that decided the best match.
        fail_if_no_match: the largest share of a system's rows with text that may have no match;
            None for all. Under 1, a row must have a text.
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
    explain: bool = False
    fail_if_no_match: float | None = None
    language: str = "en"
    decisions: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        prefix: object = self.column_prefix
        if not isinstance(prefix, str) or prefix != prefix.encode("utf-8", "replace").decode():
            raise SettingsError(
                f"{option('column_prefix')} is {prefix!r}.",
                f"{option('column_prefix')} must be text in UTF-8; empty for none.",
            )
        checked: dict[str, Any] = {
            "systems": parse_systems(self.systems),
            "text_columns": parse_text_columns(self.text_columns),
            "language": checked_language(self.language),
            "jobs": _jobs(self.jobs),
            "top": whole_number("top", self.top, 1, MAX_TOP),
        }
        for name in ("min_confidence", "fail_if_no_match", "roll_up"):
            if (value := getattr(self, name)) is not None:
                checked[name] = fraction(name, value, over_zero=name == "roll_up")
        if self.limit_rows is not None:
            checked["limit_rows"] = whole_number("limit_rows", self.limit_rows, 0)
        check_flag("explain", self.explain)
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @property
    def matches_wanted(self) -> int:
        """How many matches to ask for; rolling up adds many small confidences."""
        return self.top if self.roll_up is None else max(self.top, MATCHES_TO_ROLL_UP)

    @property
    def measured(self) -> bool:
        """Whether the shipped models answer, for which `pipeline.answers.MEASURED` holds."""
        return not self.models and self.roll_up is None

    def for_service(self) -> Settings:
        """Return these settings for a paid service: without a default `min_confidence`.

        Raises:
            SettingsError: a setting is for the embedded engine only.
        """
        for name in (name for name in ("models", "explain") if getattr(self, name)):
            raise SettingsError(
                f"{option(name)} is for the embedded engine, not for a paid service.",
                f"Remove {option(name)}, or the service{beside('base_url')}.",
            )
        return replace(self, min_confidence=self.min_confidence or 0.0)


def _jobs(value: Any) -> Jobs:
    if isinstance(value, str) and value == "auto":
        return "auto"
    try:
        return whole_number("jobs", value, 1)
    except SettingsError as error:
        hint = f"{option('jobs')} must be a whole number from 1, or auto."
        raise SettingsError(marked(error.message), hint) from None


def parse_systems(systems: str | Sequence[str]) -> tuple[System, ...]:
    """Return the systems in ``"cpv, NAICS"``, or in a list of such texts, in the same order.

    Raises:
        SettingsError: a name is unknown or occurs twice, or there is none.
    """
    names = ",".join(_names("systems", systems)).split(",")
    systems_found = [_system(name) for name in names if name.strip()]
    if not systems_found:
        raise SettingsError("No system is chosen.", SYSTEMS_HINT)
    if len(set(systems_found)) < len(systems_found):
        raise SettingsError("A system is chosen twice.", "Name each system once.")
    return tuple(systems_found)


def parse_system(system: str | Sequence[str] | None) -> System:
    """Return the one system in a name or a list.

    Raises:
        SettingsError: the name is missing or unknown, or there are several.
    """
    systems = parse_systems(system or ())
    if len(systems) > 1:
        raise SettingsError(f"system is {system!r}.", f"Give one system{beside('system')}.")
    return systems[0]


def check_labels(table: object, decisions: object, system: object) -> None:
    """Refuse to learn or to measure without right codes, or without naming their system.

    Raises:
        SettingsError: something is missing; the error names all of it.
    """
    missing = {}
    if table is None and not decisions:
        missing["the table"] = f"a table with the right codes, or {option('decisions', 'FILE')}"
    if system is None:
        missing["the system"] = f"{option('system')}: {', '.join(SYSTEMS)}"
    if missing:
        names = " and ".join(missing).capitalize()
        verb = "is" if len(missing) == 1 else "are"
        hint = f"Give {'; and '.join(missing.values())}."
        raise SettingsError(f"{names} {verb} missing.", hint)


def _system(name: str) -> System:
    for system in SYSTEMS:
        if name.strip().lower() == system:
            return system
    raise SettingsError(f"There is no system {name!r}.", SYSTEMS_HINT)


def parse_text_columns(text_columns: str | Sequence[str]) -> tuple[str, ...]:
    """Return the text columns in a name or a list of names.

    Raises:
        SettingsError: a name is not text or occurs twice, or there is none.
    """
    names = _names("text_columns", text_columns)
    if not names:
        hint = f"{option('text_columns')} must name the columns that hold the text."
        raise SettingsError("No text column is named.", hint)
    if len(set(names)) < len(names):
        hint = f"{option('text_columns')} must name each column once."
        raise SettingsError("A text column is named twice.", hint)
    return names


def _names(name: str, value: Any) -> tuple[str, ...]:
    """Return a name, or several, as a tuple."""
    if isinstance(value, set | frozenset):
        # Another order of the columns is another text, which would be bought again.
        raise SettingsError(f"{name} is {value!r}.", f"{name} must be a list: a set has no order.")
    try:
        names: tuple[Any, ...] = (value,) if isinstance(value, str) else tuple(value)
    except TypeError:
        names = (None,)
    if not all(isinstance(item, str) for item in names):
        as_text = f": {str(value)!r}" if isinstance(value, int) else ""  # as pandas may name one
        hint = f"{name} must be a name or a list of names, as text{as_text}."
        raise SettingsError(f"{name} is {value!r}.", hint)
    return names


LANGUAGES: Mapping[str, str] = {
    "bg": "Bulgarian",
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "en": "English",
    "es": "Spanish",
    "et": "Estonian",
    "fi": "Finnish",
    "fr": "French",
    "hr": "Croatian",
    "hu": "Hungarian",
    "it": "Italian",
    "lt": "Lithuanian",
    "lv": "Latvian",
    "mt": "Maltese",
    "nl": "Dutch",
    "pl": "Polish",
    "pt": "Portuguese",
    "ro": "Romanian",
    "sk": "Slovak",
    "sl": "Slovenian",
    "sv": "Swedish",
    "uk": "Ukrainian",
}
"""The languages' names by their ISO 639-1 codes."""


def checked_language(value: Any) -> str:
    """Return the code of a language in lower case.

    Raises:
        SettingsError: the CPV has no titles in it.
    """
    code = value.strip().lower() if isinstance(value, str) else value
    if code not in LANGUAGES:
        raise SettingsError(
            f"There are no titles in the language {value!r}.",
            f"{option('language')} must be one of {', '.join(LANGUAGES)}.",
        )
    return str(code)


Format: TypeAlias = Literal["csv", "parquet", "jsonl", "xlsx", "ocds"]

LineEnd: TypeAlias = Literal["lf", "crlf", "cr"]
LINE_ENDS: tuple[LineEnd, ...] = get_args(LineEnd)

QuoteEscape: TypeAlias = Literal["double", "backslash", "none"]
QUOTE_ESCAPES: tuple[QuoteEscape, ...] = get_args(QuoteEscape)


@public_class
@dataclass(frozen=True, slots=True)
class CsvOptions:
    """The dialect of a CSV file; None means "detected".

    Attributes:
        delimiter: one character, or the word ``tab``.
        encoding: the name of a Python codec; detected by a byte order mark, else UTF-8.
        line_end: ``lf``, ``crlf`` or ``cr``.
        quote_escape: how a quote inside a quoted field is written: ``double`` for two quotes,
            ``backslash`` for a backslash before it; ``none`` if quotes are part of the text and
            enclose nothing, as in some tables with tabs.
        header: whether the first record names the columns; else they are ``1``, ``2``, ...
        header_row: the number of the line with the column names, from 1; the lines above it stay.
    """

    delimiter: str | None = None
    encoding: str | None = None
    line_end: LineEnd | None = None
    quote_escape: QuoteEscape = "double"
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
            check_choice("line_end", self.line_end, LINE_ENDS)
        check_choice("quote_escape", self.quote_escape, QUOTE_ESCAPES)
        check_flag("header", self.header)
        if self.header_row is not None:
            row = whole_number("header_row", self.header_row, 1)
            object.__setattr__(self, "header_row", row)
            if not self.header:
                raise SettingsError(
                    f"{both('--no-header and --header-row', 'header=False and header_row')} "
                    "exclude each other.",
                    "Leave out one of them.",
                )


@public_class
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
        if self.sheet is not None and not isinstance(self.sheet, str):
            hint = f"{option('sheet')} must be the name of a sheet, or its number as text."
            raise SettingsError(f"sheet is {self.sheet!r}.", hint)
        if self.header_row is not None:
            row = whole_number("header_row", self.header_row, 1)
            object.__setattr__(self, "header_row", row)


DETECTED = CsvOptions(), ExcelOptions()
"""The options of a file in which everything is to be detected."""


@dataclass(frozen=True, slots=True)
class Files:
    """The files of a job: their formats, and where they go beside the output.

    Attributes:
        input_format: the format of the input.
        output_format: the format of the output.
        overwrite: whether a file that this tool did not write may be replaced.
        csv: the options of a CSV file; None in it means "detected".
        excel: the sheet and the header row of a workbook; None in it means "detected".
        report: where the page about the run goes; None for nowhere.
    """

    input_format: Format
    output_format: Format
    overwrite: bool
    csv: CsvOptions
    excel: ExcelOptions = field(default_factory=ExcelOptions)
    report: str | None = None

    @property
    def to_read_output(self) -> tuple[CsvOptions, ExcelOptions]:
        """The options with which to read the output; they are those of an input like it."""
        if self.input_format != self.output_format:
            return DETECTED
        return self.csv, self.excel


def file_options(data: object, csv: Any, excel: Any) -> tuple[CsvOptions, ExcelOptions]:
    """Return the options that describe the file of a table; None stands for what is detected.

    Raises:
        SettingsError: one is something else, or the data is in memory, and no path.
    """
    if csv is None and excel is None:
        return DETECTED
    if not isinstance(data, str | PathLike):
        raise SettingsError(
            "csv and excel describe a file, and this table is in memory.",
            "Leave them out, or give the path of the file.",
        )
    if csv is not None and not isinstance(csv, CsvOptions):
        raise SettingsError(
            f"csv is {csv!r}.", "csv must be a CsvOptions: pipeline.CsvOptions(delimiter=';')."
        )
    if excel is not None and not isinstance(excel, ExcelOptions):
        raise SettingsError(
            f"excel is {excel!r}.",
            "excel must be an ExcelOptions: pipeline.ExcelOptions(sheet='Tenders').",
        )
    return csv or CsvOptions(), excel or ExcelOptions()


def _check_delimiter(delimiter: object) -> None:
    right = isinstance(delimiter, str) and len(delimiter) == 1 and delimiter not in '"\\\r\n \0'
    if not right:
        raise SettingsError(
            f"The delimiter {delimiter!r} cannot separate fields.",
            f"Give one character, such as ';' or '|', or the word tab{beside('delimiter')}.",
        )


def _check_encoding(name: str) -> None:
    try:
        "".encode(name)
        b"".decode(name)
    except (LookupError, ValueError, TypeError) as error:
        raise SettingsError(
            f"Python knows no text encoding {name!r}.",
            f"{option('encoding')} must be a name such as utf-8, cp1252, latin-1 or utf-16.",
        ) from error
