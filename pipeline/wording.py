"""Names of options, columns and files, and counts, in texts for people.

An error of ``--output`` is one of ``output=`` for a Python user. What names an option writes
``option("output", "PATH")`` into its text, which then has both wordings. An error, a warning and
the reason for a stop make `Words` of it: the wording of the command line, which knows the other.
Below that: names from files, counts, and tables for terminals.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from shlex import quote

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
    depth = 0
    frame = inspect.currentframe()
    while frame and frame.f_code.co_filename.startswith((PACKAGE, contextlib.__file__)):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(in_python(text), stacklevel=depth + 1)


OUTPUT, OVERWRITE = option("output", "PATH"), option("overwrite", True)
TEXT_COLUMN, AS_CSV = option("text_columns", "NAME"), written_as("csv")
LEDGER, RETRY = option("ledger", "PATH"), option("retry_failed", True)


LONGEST = 40
"""Characters of a name that a message quotes."""

MOST = 20
"""Names that a message lists."""

CONTROLS = {
    each: f"\\x{each:02x}" for each in (*range(32), *range(127, 160)) if chr(each) not in "\n\t"
}
"""How control characters are shown."""


def command(*words: str | Path) -> str:
    """Return a command of this tool for a person to run: ``tender-pipeline review out.csv``.

    Args:
        words: what follows the tool's name: words as they are, and paths.
    """
    arguments = (in_shell(word) if isinstance(word, Path) else word for word in words)
    return " ".join(["tender-pipeline", *arguments])


def in_shell(path: object) -> str:
    """Return a path as an argument in a shell: quoted, and never taken for an option."""
    text = str(path)
    return quote(f"./{text}" if text.startswith("-") else text)


def how_many(number: int, noun: str) -> str:
    """Return a count with its noun: ``1 row``, ``1,200 rows``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def cut(text: str) -> str:
    """Return a text, shortened if it is long."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def quoted(name: str) -> str:
    """Return a name in quotes, shortened if it is long."""
    return repr(name) if len(name) <= LONGEST else f"{name[:LONGEST]!r}..."


def listed(names: Sequence[str]) -> str:
    """Return names in quotes, separated by commas; of many, the first ones and a count."""
    return first_of([*map(quoted, names)], MOST)


def first_of(parts: Sequence[str], most: int) -> str:
    """Return parts separated by commas; of many, the first ones and how many more there are."""
    unnamed = len(parts) - most
    return ", ".join(parts[:most]) + (f" and {unnamed:,} more" if unnamed > 0 else "")


def visible(text: str) -> str:
    """Return a text with its control characters shown, so that no terminal obeys them.

    The name of a file may have them, and strangers name the tables of an archive or a folder.
    """
    return text.translate(CONTROLS)


def readable(text: str, most: int = 40) -> str:
    """Return a foreign text as one short line without control characters."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= most else f"{line[: most - 1]}\N{HORIZONTAL ELLIPSIS}"


def aligned(
    header: Sequence[str], rows: Sequence[Sequence[str]], numbers: int = 0, gap: int = 2
) -> Iterator[str]:
    """Yield the lines of a table whose last ``numbers`` columns are right-aligned.

    There are ``gap`` spaces between two columns.
    """
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    words = len(header) - numbers
    for row in (header, *rows):
        cells = [
            cell.ljust(width) if number < words else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield (" " * gap).join(cells).rstrip()
