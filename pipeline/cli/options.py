"""Declares the options that several commands share, and gives their values types."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from pipeline.errors import SettingsError
from pipeline.file_options import (
    FORMATS,
    LINE_ENDS,
    QUOTE_ESCAPES,
    CsvOptions,
    ExcelOptions,
    Format,
    LineEnd,
    QuoteEscape,
)
from pipeline.files.paths import CloudPath, as_path

__all__ = [
    "READING",
    "SETTINGS_FILE",
    "AddressPath",
    "DialectOptions",
    "JobsType",
    "LocalPath",
    "Names",
    "as_json",
    "declared",
    "dialect_options",
    "in_json",
    "input_format",
    "label_decisions",
    "labelled_columns",
    "option",
    "origin_of",
    "singular_or_plural",
]

SETTINGS_FILE = f"{__name__}.settings_file"
"""The key in a command's context for the path of the settings file that was read."""

Declaration: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]
"""A decorator that declares options for a command."""

Declare: TypeAlias = Callable[..., Declaration]
"""Makes a declaration: `option`, or `click.option` for an option without a variable."""


class Names(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """One or more names: separated by commas in an environment variable, a list in TOML.

    A shell completes the choices, or paths.
    """

    def __init__(
        self, choices: Sequence[str] = (), paths: Literal["dir", "file"] | None = None
    ) -> None:
        self.name = "path" if paths else "name"
        self._choices = choices
        self._paths = paths

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's shape
        param: click.Parameter,  # noqa: ARG002
        incomplete: str,
    ) -> list[CompletionItem]:
        """Return what the last of the names, which commas separate, may be."""
        if self._paths:
            return [CompletionItem(incomplete, type=self._paths)]
        *before, last = incomplete.split(",")
        rest = [name for name in self._choices if name not in before and name.startswith(last)]
        return [CompletionItem(",".join([*before, name])) for name in rest]

    def split_envvar_value(self, rv: str) -> list[str]:
        """Return the names between the commas, without the spaces around them."""
        return [name.strip() for name in rv.split(",") if name.strip()]


class JobsType(click.types.IntParamType):
    """A number of processes, or ``auto``."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return the number, or ``auto``."""
        if value == "auto":
            return value
        try:
            return int(value)
        except ValueError:
            self.fail(f"{value!r} is not a whole number or auto.", param, ctx)


def _not_empty(value: Any, param: click.Parameter) -> Any:
    """Refuse an empty path, which Python would take for the current folder."""
    if value == "":
        raise SettingsError(
            f"The path of {_named(param)} is empty.",
            "Give a path; perhaps a variable in it is not set.",
        )
    return value


def _named(param: click.Parameter) -> str:
    """Return what people call a parameter: ``--output``, or ``INPUT`` of an argument."""
    if isinstance(param, click.Option):
        return param.opts[0]
    return param.human_readable_name.rstrip(".")


class AddressPath(click.Path):
    """The path of a file, or an address such as ``s3://bucket/tenders.csv``."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return a `Path` or a `CloudPath`."""
        path = as_path(_not_empty(value, param))
        return path if isinstance(path, CloudPath) else super().convert(value, param, ctx)


class LocalPath(click.Path):
    """The path of a file on this machine."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return a `Path`."""
        if isinstance(as_path(_not_empty(value, param)), CloudPath):
            raise SettingsError(
                f"{value} is not a file on this machine.", f"Give {_named(param)} a local path."
            )
        return super().convert(value, param, ctx)


def option(name: str, *more: str, **attributes: Any) -> Declaration:
    """Declare an option with its variable: ``--text-column`` is ``TENDER_PIPELINE_TEXT_COLUMN``.

    An old name of an option has a variable too.
    """
    flags = [each for each in (name, *more) if each.startswith("--")]
    variables = [f"TENDER_PIPELINE_{each[2:].replace('-', '_').upper()}" for each in flags]
    envvar = variables if len(variables) > 1 else variables[0]
    return click.option(name, *more, envvar=envvar, **attributes)


def origin_of(context: click.Context, parameter: click.Parameter) -> str:
    """Return the file or the variable, in words, that set a parameter; "" if neither did."""
    name = str(parameter.name)
    match context.get_parameter_source(name):
        case ParameterSource.DEFAULT_MAP:
            return str(context.meta[SETTINGS_FILE])
        case ParameterSource.ENVIRONMENT:
            stated = parameter.envvar or ()
            names = [stated] if isinstance(stated, str) else stated
            generated = f"{context.auto_envvar_prefix}_{name.upper()}"
            return f"the variable {next(filter(os.environ.get, names), generated)}"
        case _:
            return ""


def singular_or_plural(*names: str) -> dict[str, Any]:
    """Return context settings with which a command takes options by the other number, too.

    >>> singular_or_plural("systems")["token_normalize_func"]("system")
    'systems'
    """
    others = {name.removesuffix("s") if name.endswith("s") else f"{name}s": name for name in names}
    return {"token_normalize_func": lambda token: others.get(token, token)}


def declared(*options: Declaration) -> Declaration:
    """Return a decorator that declares several options, in this order."""

    def declare(command: Callable[..., Any]) -> Callable[..., Any]:
        for each in reversed(options):
            command = each(command)
        return command

    return declare


def as_json(declare: Declare = click.option, what: str = "summary") -> Declaration:
    """Declare ``--json``."""
    return declare("--json", "as_json", is_flag=True, help=f"Print the {what} as JSON.")


in_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def input_format(declare: Declare = click.option) -> Declaration:
    """Declare ``--input-format``."""
    return declare(
        "--input-format",
        type=click.Choice(FORMATS),
        help="The input's format, if its name does not show it.",
    )


DIALECT: Mapping[str, Mapping[str, Any]] = {
    "--delimiter": {"help": "CSV: what separates the fields.  [default: detected]"},
    "--encoding": {
        "help": "CSV: the character encoding.  [default: the byte order mark's, or UTF-8]"
    },
    "--line-end": {"type": click.Choice(LINE_ENDS), "help": "CSV: what ends a line."},
    "--quote-escape": {
        "type": click.Choice(QUOTE_ESCAPES),
        "default": "double",
        "help": "CSV: how a quote inside quotes is written; none: quotes are part of the text.",
    },
    "--no-header": {
        "is_flag": True,
        "help": "CSV: the first record is data; columns are 1, 2, ...",
    },
    "--sheet": {"help": "Excel: the sheet's name or number.  [default: the first with the table]"},
    "--header-row": {
        "type": int,
        "help": "CSV, Excel: the number of the line or row with the column names.  "
        "[default: detected]",
    },
}

READING = ("--input-format", *DIALECT)
"""The names of the options that describe a table file."""


@dataclass(frozen=True, kw_only=True)
class DialectOptions:
    """The options that `dialect_options` declares; see `CsvOptions` and `ExcelOptions`."""

    input_format: Format | None
    delimiter: str | None
    encoding: str | None
    line_end: LineEnd | None
    quote_escape: QuoteEscape
    no_header: bool
    sheet: str | None
    header_row: int | None

    @property
    def csv(self) -> CsvOptions:
        """The same as `CsvOptions`, which checks them.

        Raises:
            SettingsError: one of them is wrong.
        """
        return CsvOptions(
            delimiter=self.delimiter,
            encoding=self.encoding,
            line_end=self.line_end,
            quote_escape=self.quote_escape,
            header=not self.no_header,
            header_row=self.header_row,
        )

    @property
    def excel(self) -> ExcelOptions:
        """The same as `ExcelOptions`, which checks them.

        Raises:
            SettingsError: one of them is wrong.
        """
        return ExcelOptions(sheet=self.sheet, header_row=self.header_row)


def dialect_options(declare: Declare = click.option) -> Declaration:
    """Declare the options that describe a table file."""
    return declared(*(declare(name, **attributes) for name, attributes in DIALECT.items()))


label_decisions = click.option(
    "--decisions",
    multiple=True,
    type=LocalPath(path_type=Path),
    help="A file of decisions (see review) with labels; repeat it for several.",
)

labelled_columns = declared(
    click.option(
        "--text-column",
        "text_columns",
        multiple=True,
        default=["description"],
        help="A column with the text; repeat it to join several.",
    ),
    click.option("--code-column", default="code", help="The column with the right code."),
)
