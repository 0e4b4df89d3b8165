"""How a table file is written: its format, and the options of CSV files and workbooks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from pipeline.checks import check, check_choice, check_flag, whole_number
from pipeline.errors import SettingsError
from pipeline.public import public_class
from pipeline.wording import beside, both

__all__ = [
    "FORMATS",
    "LINE_ENDS",
    "QUOTE_ESCAPES",
    "CsvOptions",
    "ExcelOptions",
    "Files",
    "Format",
    "LineEnd",
    "QuoteEscape",
    "check_no_file",
    "checked_csv",
    "checked_excel",
]

Format: TypeAlias = Literal["csv", "parquet", "jsonl", "xlsx", "ocds"]
FORMATS: tuple[Format, ...] = get_args(Format)

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
            message = (
                f"{both('--no-header and --header-row', 'header=False and header_row')} exclude "
                "each other."
            )
            check(self.header, message, "Leave out one of them.")


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
        hint = f"sheet must be the name of a sheet, or its number as text{beside('sheet')}."
        check(self.sheet is None or isinstance(self.sheet, str), f"sheet is {self.sheet!r}.", hint)
        if self.header_row is not None:
            row = whole_number("header_row", self.header_row, 1)
            object.__setattr__(self, "header_row", row)


@dataclass(frozen=True, slots=True)
class Files:
    """The formats of a job's files.

    Attributes:
        input_format: the format of the input.
        output_format: the format of the output.
        overwrite: whether a file that this tool did not write may be replaced.
        csv: the options of a CSV file; None in it means "detected".
        excel: the sheet and the header row of a workbook; None in it means "detected".
    """

    input_format: Format
    output_format: Format
    overwrite: bool
    csv: CsvOptions
    excel: ExcelOptions = field(default_factory=ExcelOptions)

    @property
    def to_read_output(self) -> tuple[CsvOptions, ExcelOptions]:
        """The options with which to read the output; they are those of an input like it."""
        if self.input_format != self.output_format:
            return CsvOptions(), ExcelOptions()
        return self.csv, self.excel


def check_no_file(csv: Any, excel: Any) -> None:
    """Refuse options that describe a file for a table in memory.

    Raises:
        SettingsError: there are some.
    """
    if csv is not None or excel is not None:
        raise SettingsError(
            "csv and excel describe a file, and this table is in memory.",
            "Leave them out, or give the path of the file.",
        )


def checked_csv(csv: Any) -> CsvOptions:
    """Return the dialect of a CSV file; None stands for the detected one.

    Raises:
        SettingsError: it is something else.
    """
    if csv is not None and not isinstance(csv, CsvOptions):
        raise SettingsError(
            f"csv is {csv!r}.", "csv must be a CsvOptions: pipeline.CsvOptions(delimiter=';')."
        )
    return csv or CsvOptions()


def checked_excel(excel: Any) -> ExcelOptions:
    """Return the options of a workbook; None stands for the usual ones.

    Raises:
        SettingsError: it is something else.
    """
    if excel is not None and not isinstance(excel, ExcelOptions):
        raise SettingsError(
            f"excel is {excel!r}.",
            "excel must be an ExcelOptions: pipeline.ExcelOptions(sheet='Tenders').",
        )
    return excel or ExcelOptions()


def _check_delimiter(delimiter: object) -> None:
    right = isinstance(delimiter, str) and len(delimiter) == 1 and delimiter not in '"\\\r\n \0'
    check(
        right,
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
            "encoding must be a name such as utf-8, cp1252, latin-1 or "
            f"utf-16{beside('encoding')}.",
        ) from error
