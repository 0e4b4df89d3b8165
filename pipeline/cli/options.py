"""Makes the options of a command from the fields of a dataclass, and gives their values types."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

import click
from click.core import ParameterSource

from pipeline.errors import PipelineError, SettingsError
from pipeline.files.paths import AnyPath, CloudPath, as_path
from pipeline.processes import Jobs
from pipeline.settings import CsvOptions, ExcelOptions, Format, LineEnd, QuoteEscape, Settings
from pipeline.wording import SETTINGS, flag_name, variable_name

if TYPE_CHECKING:  # --help needs no table
    from pipeline.tables.table import Reader

SETTINGS_FILE = f"{__name__}.settings_file"
"""The key in a command's context for the path of the settings file that was read."""

TABLE, BUYING = "Table", "Paid service"
"""Groups of options that several commands have."""


class Names(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """One or more names: separated by commas in an environment variable, a list in TOML."""

    def __init__(self, name: Literal["name", "path"] = "name") -> None:
        self.name = name

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:  # noqa: ARG002 - click's shape
        """Return the names as they are."""
        return _not_empty(value, param, self.name)

    def split_envvar_value(self, rv: str) -> list[str]:
        """Return the names between the commas, without the spaces around them."""
        return [name.strip() for name in rv.split(",") if name.strip()]


def _number_or_text(value: str) -> int | str:
    """Return a number of processes; of what is none, `Settings` takes only ``auto``."""
    return int(value) if value.isdecimal() else value


def _not_empty(value: Any, param: click.Parameter, what: str = "path") -> Any:
    """Refuse an empty name, or an empty path, which Python would take for the current folder."""
    if value == "":
        raise SettingsError(
            f"The {what} of {_name_of(param)} is empty.",
            f"Give a {what}; perhaps a variable in it is not set.",
        )
    return value


def _name_of(param: click.Parameter) -> str:
    """Return what people call a parameter: ``--output``, or ``INPUT`` of an argument."""
    if isinstance(param, DeclaredOption) and param.is_setting:
        return str(param.envvar)
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
                f"{value} is not a file on this machine.", f"Give {_name_of(param)} a local path."
            )
        return super().convert(value, param, ctx)


class DeclaredOption(click.Option):
    """An option that a field of a dataclass declares.

    Attributes:
        group: its group in the help; "" for none.
        is_setting: whether only a settings file and a variable set it, not the command line.
    """

    def __init__(
        self,
        *args: Any,
        group: str = "",
        is_setting: bool = False,
        **attributes: Any,
    ) -> None:
        super().__init__(*args, **{**attributes, "hidden": is_setting})
        self.group = group
        self.is_setting = is_setting

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Let the command line have it, unless it is only a setting."""
        if not self.is_setting:
            super().add_to_parser(parser, ctx)

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """Return its name in errors."""
        return str(self.envvar) if self.is_setting else super().get_error_hint(ctx)


def option(help: str, group: str = "", *, flag: str = "", **attributes: Any) -> Any:  # noqa: A002
    """Declare a field of a dataclass, and the option that sets it.

    What the option takes follows from the type of the field.

    Args:
        help: what it means.
        group: see `DeclaredOption`.
        flag: its name, if not that of the field with hyphens.
        attributes: see `click.Option`, such as ``default``.
    """
    return field(metadata={"flag": flag, "option": {"help": help, "group": group, **attributes}})


def argument(**attributes: Any) -> Any:
    """Declare a field of a dataclass, and the argument that sets it; see `click.Argument`."""
    return field(metadata={"argument": attributes})


def parameters(declared: type, with_variables: bool = False) -> list[click.Parameter]:
    """Return the arguments and options that the fields of a dataclass declare, its own first.

    Args:
        declared: the dataclass.
        with_variables: whether each option has an environment variable, or only those for buying
            and settings.
    """
    hints = get_type_hints(declared)
    inherited = {name for base in declared.__bases__ for name in getattr(base, FIELDS, ())}
    ordered = sorted(fields(declared), key=lambda option: option.name in inherited)
    return [_parameter(option, hints[option.name], with_variables) for option in ordered]


FIELDS = "__dataclass_fields__"


def _parameter(declared: Field[Any], hint: Any, with_variables: bool) -> click.Parameter:
    if stated := declared.metadata.get("argument"):
        return click.Argument([declared.name], **stated)
    attributes = {**_type(hint), **declared.metadata["option"]}
    flag = declared.metadata["flag"] or flag_name(declared.name)
    is_setting = declared.name in SETTINGS
    if with_variables or is_setting or attributes["group"] == BUYING:
        attributes["envvar"] = variable_name(flag)
    return DeclaredOption([flag, declared.name], is_setting=is_setting, **attributes)


def _type(hint: Any) -> dict[str, Any]:
    """Return what an option for a field of a type takes, as attributes of `click.Option`."""
    if hint == Jobs:
        return {"type": _number_or_text, "metavar": "N|auto"}
    if hint in (AnyPath, AnyPath | None):
        return {"type": AddressPath(path_type=Path)}
    if get_origin(hint) is tuple:
        inner = get_args(hint)[0]
        return {"multiple": True, **({"type": Names()} if inner is str else _type(inner))}
    if get_origin(hint) is Literal:
        return {"type": click.Choice(get_args(hint))}
    if hint is bool:
        return {"is_flag": True}
    if hint is Path:
        return {"type": LocalPath(path_type=Path)}
    if NoneType in get_args(hint):
        return _type(next(kind for kind in get_args(hint) if kind is not NoneType))
    return {"type": hint}


def of_fields(made: type, options: object) -> dict[str, Any]:
    """Return the values of those options that are fields of another dataclass, too."""
    there = {*dir(options)}
    names = [made_field.name for made_field in fields(made) if made_field.name in there]
    return {name: getattr(options, name) for name in names}


def add_origins(context: click.Context, error: PipelineError) -> None:
    """Let an error say of each option in it which file or variable set it, if one did.

    What a file has set and no option can is named as in the file, and not by its variable.
    """
    said = f"{error.message} {error.hint}"
    mentioned = set(re.findall(r"--[a-z][a-z-]+|[A-Z_]{9,}", said))
    for each in context.command.params:
        name, origin = _name_of(each), ""
        if name not in mentioned:
            continue
        match context.get_parameter_source(str(each.name)):
            case ParameterSource.DEFAULT_MAP:
                origin = str(context.meta[SETTINGS_FILE])
                in_file = each.opts[0].removeprefix("--")
                if name == each.envvar and origin not in said:
                    error.message = error.message.replace(name, in_file)
                    error.hint = error.hint.replace(name, in_file)
                    name = in_file
            case ParameterSource.ENVIRONMENT:
                generated = f"{context.auto_envvar_prefix}_{str(each.name).upper()}"
                origin = f"the variable {each.envvar or generated}"
        if origin and origin not in said and name not in origin:
            error.hint = f"{error.hint} {name} comes from {origin}."


def repeat_option(context: click.Context, value: str = "VALUE") -> str:
    """Return what to do if a further value of an option was taken for an argument.

    "" if no option that takes several is on the command line.
    """
    options = [
        f"{param.opts[0]} {value}"
        for param in context.command.params
        if isinstance(param, click.Option) and param.multiple
        if context.get_parameter_source(str(param.name)) == ParameterSource.COMMANDLINE
    ]
    return (
        f"If it is the value of an option, repeat that: {' or '.join(options)}." if options else ""
    )


in_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@dataclass(frozen=True, kw_only=True)
class DialectOptions:
    """The options that describe a table file; see `CsvOptions` and `ExcelOptions`."""

    input_format: Format | None = option("The input's format, if its name does not show it.", TABLE)
    delimiter: str | None = option("CSV: what separates the fields.  [default: detected]", TABLE)
    encoding: str | None = option(
        "CSV: the character encoding.  [default: the byte order mark's, or UTF-8]",
        TABLE,
    )
    line_end: LineEnd | None = option("CSV: what ends a line.", TABLE)
    quote_escape: QuoteEscape = option(
        "CSV: how a quote inside quotes is written; none: quotes are part of the text.",
        TABLE,
        default="double",
    )
    no_header: bool = option("CSV: the first record is data; columns are 1, 2, ...", TABLE)
    sheet: str | None = option(
        "Excel: the sheet's name or number.  [default: the first with the table]",
        TABLE,
    )
    header_row: int | None = option(
        "CSV, Excel: the number of the line or row with the column names.  [default: detected]",
        TABLE,
    )

    @property
    def csv(self) -> CsvOptions:
        """The same as `CsvOptions`, which checks them.

        Raises:
            SettingsError: one of them is wrong.
        """
        return CsvOptions(**of_fields(CsvOptions, self), header=not self.no_header)

    @property
    def excel(self) -> ExcelOptions:
        """The same as `ExcelOptions`, which checks them.

        Raises:
            SettingsError: one of them is wrong.
        """
        return ExcelOptions(**of_fields(ExcelOptions, self))


@dataclass(frozen=True, kw_only=True)
class LabelledOptions(DialectOptions):
    """The options that describe a labelled table."""

    text_columns: tuple[str, ...] = option(
        "A column with the text; repeat it to join several.", default=["description"]
    )
    code_column: str = option("The column with the right code.", default="code")
    decisions: tuple[Path, ...] = option(
        "A file of decisions: one that review has written, or an output of run with corrected "
        "codes; repeat it for several."
    )

    def reader(
        self, path: Path, needed: Iterable[tuple[str, str]], warn: Callable[[str], None]
    ) -> Reader:
        """Open the table; warn if its texts hold hardly any words.

        ``needed`` has the argument and the name of each column beside the text.

        Raises:
            InputError: it cannot be read, or lacks columns, all of which the error names.
        """
        from pipeline.classification.job import Request
        from pipeline.classification.labelled import open_labelled_file

        asked = Settings(text_columns=self.text_columns)
        request = Request(asked, csv=self.csv, excel=self.excel, input_format=self.input_format)
        return open_labelled_file(path, request, [*needed], warn)
