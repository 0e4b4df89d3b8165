"""Texts that the command line and Python word differently, and errors as Python users see them.

An error of ``--output`` is one of ``output=`` for a Python user. What names an option writes
``option("output", "PATH")`` into its text, which then has both wordings. An error, a warning and
the reason for a stop make `Words` of it: the wording of the command line, which knows the other.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import re
import warnings
from collections.abc import Sequence
from pathlib import Path

BEGIN, BETWEEN, END = "\ufff9", "\ufffa", "\ufffb"
"""Unicode's characters for a text with an annotation, which no table has."""

MARK = re.compile(f"{BEGIN}(.*?){BETWEEN}(.*?){END}", re.DOTALL)

LISTS = ("models", "text_columns")
"""The arguments that hold what several options name."""

PACKAGE = f"{Path(__file__).parent}{os.sep}"

OPTIONS = {
    "api_key": "--api-key-file",
    "models": "--model",
    "request_fields": "--request-field",
    "text_columns": "--text-column",
}
"""The options whose name is not just that of the argument with hyphens."""


SETTINGS = (
    "burst",
    "fail_if_no_match",
    "ignore_pause",
    "line_end",
    "log_format",
    "max_age",
    "metrics_file",
    "quote_escape",
    "timeout",
)
"""What a settings file or a variable sets, and no option: set once, or needed by few."""


class Words(str):
    """A text as the command line words it.

    Attributes:
        marked: the text with both wordings, to make another text of it.
    """

    marked: str

    def __new__(cls, text: str) -> Words:
        """Make it of a text with both wordings."""
        words = super().__new__(cls, MARK.sub(r"\1", marked(text)))
        words.marked = marked(text)
        return words


def marked(text: str) -> str:
    """Return a text with both wordings, to make another text of it."""
    return text.marked if isinstance(text, Words) else text


def in_python(text: str) -> str:
    """Return a text as Python words it."""
    return MARK.sub(r"\2", marked(text))


def both(command_line: str, python: str) -> str:
    """Return what the command line says, and what Python says instead, as a part of a text."""
    return f"{BEGIN}{command_line}{BETWEEN}{python}{END}"


RUN_AGAIN = both("Run the same command", "Make the same call")
THEN_RUN_AGAIN = both("run the same command", "make the same call")
TRAIN = both("tender-pipeline train", "pipeline.train")


def flag_name(argument: str) -> str:
    """Return an argument as an option: ``--max-cost`` for ``max_cost``."""
    return OPTIONS.get(argument, f"--{argument.replace('_', '-')}")


def variable_name(flag: str) -> str:
    """Return the variable of an option: ``TENDER_PIPELINE_MAX_COST`` for ``--max-cost``."""
    return f"TENDER_PIPELINE_{flag.removeprefix('--').replace('-', '_').upper()}"


def option_name(argument: str) -> str:
    """Return what sets an argument on the command line: its option, or else its variable."""
    flag = flag_name(argument)
    return variable_name(flag) if argument in SETTINGS else flag


def option(argument: str, *values: str | int | bool) -> str:
    """Return an argument, perhaps with a value or several, as a part of a text.

    >>> print(Words(option("text_columns", "NAME")))
    --text-column NAME
    >>> print(in_python(option("text_columns", "NAME")))
    text_columns=["NAME"]
    """
    return both(_option(argument, values), _argument(argument, values))


def beside(argument: str, value: str = "") -> str:
    """Return the option of an argument that a text has just named, in parentheses."""
    return both(f" ({option_name(argument)}{value and f' {value}'})", "")


def csv_option(argument: str, *values: str | int | bool) -> str:
    """Return an argument of `CsvOptions` as a part of a text; no header is ``--no-header``."""
    written = "--no-header" if argument == "header" else _option(argument, values)
    python = _argument(argument, values) if values else f"{argument}=..."
    return both(written, f"csv=pipeline.CsvOptions({python})")


def excel_option(argument: str, *values: str | int) -> str:
    """Return an argument of `ExcelOptions` as a part of a text."""
    python = f"excel=pipeline.ExcelOptions({_argument(argument, values)})"
    return both(_option(argument, values), python)


def written_as(output_format: str) -> str:
    """Return the option for the format of the output as a part of a text."""
    return both(f"--output-format {output_format}", f'output="NAME.{output_format}"')


def read_as(input_format: str) -> str:
    """Return what begins the advice to read a file in a format, or to rename it."""
    return both(f"Use --input-format {input_format}, or rename", "Rename")


def _option(argument: str, values: Sequence[str | int | bool]) -> str:
    name = option_name(argument)
    if values and argument in SETTINGS:
        return f"{name}={str(values[0]).lower()}"
    if not values or isinstance(values[0], bool):
        return name
    return " ".join(f"{name} {value}" for value in values)


def _argument(argument: str, values: Sequence[str | int | bool]) -> str:
    if not values:
        return argument
    if argument in LISTS:
        return f"{argument}=[{', '.join(map(_literal, values))}]"
    return f"{argument}={_literal(values[0])}"


def _literal(value: str | int) -> str:
    """Return a value as Python code; the command line has names with other characters in quotes."""
    return '"{}"'.format(value.strip("'\"")) if isinstance(value, str) else str(value)


def warn_in_python(text: str) -> None:
    """Issue a warning that names arguments, and the line of the user's call."""
    ours = 0
    frame = inspect.currentframe()
    while frame and frame.f_code.co_filename.startswith((PACKAGE, contextlib.__file__)):
        ours, frame = ours + 1, frame.f_back
    warnings.warn(in_python(text), stacklevel=ours + 1)


OUTPUT, OVERWRITE = option("output", "PATH"), option("overwrite", True)
TEXT_COLUMN, AS_CSV = option("text_columns", "NAME"), written_as("csv")
LEDGER, RETRY = option("ledger", "PATH"), option("retry_failed", True)
