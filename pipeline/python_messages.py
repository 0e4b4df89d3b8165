"""Words errors and warnings for Python users: they name arguments, not command line options.

The package words its messages for the command line. The public functions pass them through here.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from pipeline.errors import PipelineError

__all__ = [
    "SHORTENED",
    "all_arguments",
    "answering_names",
    "in_python",
    "like",
    "of_options",
    "public",
    "python_words",
    "reworded",
    "warn_in_python",
]

PACKAGE = f"{Path(__file__).parent}{os.sep}"

Error = TypeVar("Error", bound=PipelineError | KeyboardInterrupt)

Arguments = ParamSpec("Arguments")
Returned = TypeVar("Returned")

Made = TypeVar("Made")

SHORTENED = (PipelineError, KeyboardInterrupt)
"""What a public function catches to pass through `in_python`."""

ARGUMENTS = {
    "text_column": "text_columns",
    "model": "models",
    "reference_column": "reference_columns",
    "api_key_file": "api_key",
}
"""Arguments whose name is not just that of the option with underscores."""

LISTS = ("text_columns", "models", "reference_columns", "systems")

FLAGS = ("overwrite", "partial", "wait", "retry_failed", "burst", "explain")

CSV = ("delimiter", "encoding", "line_end", "quote_escape", "no_header")

EXCEL = ("sheet", "header_row")

BUYING = (
    *("base_url", "api_key", "ledger", "rate", "workers", "max_cost", "max_cost_per_day"),
    *("max_cost_per_month", "max_price", "max_duration", "timeout", "burst", "wait"),
    *("ignore_pause", "retry_failed", "max_age", "on_unconfirmed"),
)

CLASSES = {
    "excel": ("ExcelOptions", EXCEL),
    "csv": ("CsvOptions", ("header", "header_row", *CSV)),
    "service": ("PaidService", BUYING),
    "subject": ("PaidService", BUYING),
}
"""The arguments that hold further ones: the class of each, and the names in it."""

SYNONYMS = {
    "sep": ("delimiter",),
    "sheet_name": ("sheet",),
    "no_header": ("header",),
    "api_key_file": ("api_key",),
    "model": ("models", "subject"),
    "nrows": ("limit_rows",),
    "k": ("top",),
    "threshold": ("min_confidence",),
    "label_column": ("code_column",),
    "label": ("code_column",),
    "labels": ("code_column",),
    "code": ("code_column",),
    "column": ("text_columns",),
    "columns": ("text_columns",),
    "service": ("subject",),
    "compare": ("against",),
    "url": ("base_url",),
    "budget": ("max_cost",),
}
"""What pandas, the command line or another function calls an argument."""

PHRASES = (
    (r"Run the same command", "Make the same call"),
    (r"run the same command", "make the same call"),
    (r"tender-pipeline train\b", "pipeline.train"),
    (r"The table was written all the same", "The error's result has the table all the same"),
    (r"Use --input-format \w+, or rename", "Rename"),
    (r"Use --input-format \w+, or a suffix", "Use a suffix"),
    (r"use --input-format (\w+)", r"rename it to end in .\1"),
    (r"--output-format (\w+)", r'output="NAME.\1"'),
    (r"Write --endpoint-url (\S+), or the same in (\w+)", r"Set the variable \2 to \1"),
    (r"name it: --header-row (\d+)", r"name it: csv=pipeline.CsvOptions(header_row=\1)"),
    (r"of their line: --header-row 1", "of their line: csv=pipeline.CsvOptions(header_row=1)"),
    (r"--endpoint-url", "the variable AWS_ENDPOINT_URL"),
    (
        r"the address of a service, which begins with http:// or https://",
        'a service: pipeline.PaidService("https://service.example")',
    ),
)
"""Sentences that Python words differently: there, a file's format is in its name."""

BESIDE = re.compile(r" \(--[a-z-]+(?: [A-Z]+)?\)(?=[.,])")
"""An option in parentheses after the argument that it names."""

OPTION = re.compile(
    r"(?P<command>tender-pipeline ledger [a-z -]+)|--(?P<option>[a-z]+(?:-[a-z]+)*)"
    r"(?: (?P<value>'[^']*'|\"[^\"]*\"|[A-Z]{3,}(?:\.[a-z]+)?|\d+|learned|new_|cp1252|tab"
    r"|(?:none|lf)\b))?"
)


def public(function: Callable[Arguments, Returned]) -> Callable[Arguments, Returned]:
    """Decorate a public function: its errors name arguments, also those that it lacks."""

    def call(*args: Arguments.args, **named: Arguments.kwargs) -> Returned:
        if wrong := _wrong_arguments(function, args, named):
            raise TypeError(wrong)
        try:
            return function(*args, **named)
        except SHORTENED as error:
            raise in_python(error) from None

    call.__code__ = call.__code__.replace(co_name=function.__name__)  # what a traceback shows
    return wraps(function)(call)


def reworded(method: Callable[Arguments, Returned]) -> Callable[Arguments, Returned]:
    """Decorate a method of a public class: its errors name arguments."""

    def call(*args: Arguments.args, **named: Arguments.kwargs) -> Returned:
        try:
            return method(*args, **named)
        except PipelineError as error:
            raise in_python(error) from None

    call.__code__ = call.__code__.replace(co_name=method.__name__)
    return wraps(method)(call)


def answering_names(made: type[Made]) -> type[Made]:
    """Decorate a public class: its errors name arguments, and say what to write for unknown ones.

    The command line makes its objects with `of_options`.
    """
    init: Callable[..., None] = made.__init__

    @wraps(init)
    def checked(self: object, *args: object, **named: object) -> None:
        if wrong := _wrong_name(named, inspect.signature(init).parameters, made.__name__):
            raise TypeError(wrong)
        try:
            init(self, *args, **named)
        except PipelineError as error:
            raise in_python(error) from None

    made.__init__ = checked  # type: ignore[method-assign]
    return made


def of_options(made: type[Made], /, **options: Any) -> Made:
    """Return an object of a class with `answering_names`, whose errors name options."""
    found = made.__new__(made)
    init: Callable[..., None] = inspect.unwrap(made.__init__)
    init(found, **options)
    return found


def like(
    function: Callable[Arguments, object],
) -> Callable[[Callable[..., Returned]], Callable[Arguments, Returned]]:
    """Decorate a function that takes the arguments of another one.

    Type checkers, ``help`` and notebooks then know them.
    """

    def signed(call: Callable[..., Returned]) -> Callable[Arguments, Returned]:
        returned = call.__annotations__["return"]
        call.__annotations__ = {**function.__annotations__, "return": returned}
        signature = inspect.signature(function).replace(return_annotation=returned)
        call.__signature__ = signature  # type: ignore[attr-defined]
        return call

    return signed


def all_arguments(
    function: Callable[Arguments, object], *args: Arguments.args, **named: Arguments.kwargs
) -> dict[str, Any]:
    """Return the arguments of a call, also those that the caller left out.

    Raises:
        TypeError: as for the call itself.
    """
    if wrong := _wrong_arguments(function, args, named):
        raise TypeError(wrong)
    call = inspect.signature(function).bind(*args, **named)
    call.apply_defaults()
    return call.arguments


def _wrong_arguments(
    function: Callable[..., object], args: Sequence[object], names: Iterable[str]
) -> str:
    """Return what is wrong with the arguments, and what to write instead; "" if nothing is."""
    in_spark = function.__module__ == "pipeline.spark"
    called = f"spark.{function.__name__}" if in_spark else function.__name__
    known = inspect.signature(function).parameters
    if wrong := _wrong_name(names, known, called):
        return wrong
    if len(args) > 1:
        first, second, *_ = known
        other = "text_columns" if "text_columns" in known else second
        return f"{called}() takes only {first} without a name. Name the others, such as {other}=..."
    return ""


def _wrong_name(names: Iterable[str], known: Iterable[str], called: str) -> str:
    """Return what to write instead of the first name that is not known; "" if all are."""
    for name in names:
        if name not in known:
            return f"{called}() has no argument {name!r}. {_instead(name, called, known)}"
    return ""


def _instead(name: str, function: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches  # the command line needs none of this

    usual = SYNONYMS.get(name, (name,))
    for argument, (kind, names) in CLASSES.items():
        if usual[0] in names and argument in known:
            return f"Write {argument}=pipeline.{kind}({usual[0]}=...)."
    meant = [each for each in usual if each in known] or get_close_matches(usual[0], known, 1)
    if meant:
        return f"Did you mean {meant[0]}?"
    return f"help(pipeline.{function}) lists its arguments."


def in_python(error: Error) -> Error:
    """Return an error, reworded, for a public function to raise ``from None``.

    An interrupt, which has no words, is returned too.

    Its traceback ends at that function: a notebook shows the reader's own line, not the inside of
    the package. The original cause is kept as ``__context__``.
    """
    if isinstance(error, PipelineError):
        message, hint = python_words(error.message), python_words(error.hint)
        error.message, error.hint = message, hint
        error.args = (message, hint, *error.args[2:])
    error.__traceback__ = None
    return error


def python_words(text: str) -> str:
    """Turn options into arguments: ``--text-column NAME`` into ``text_columns=["NAME"]``."""
    for pattern, replacement in PHRASES:
        text = re.sub(pattern, replacement, text)
    text = OPTION.sub(_argument, BESIDE.sub("", text))
    return text.replace('"] text_columns=["', '", "')  # one list of all that are named


def warn_in_python(text: str) -> None:
    """Issue a warning, reworded, that names the line of the user's call."""
    ours = 0
    frame = inspect.currentframe()
    while frame and frame.f_code.co_filename.startswith((PACKAGE, contextlib.__file__)):
        ours, frame = ours + 1, frame.f_back
    warnings.warn(python_words(text), stacklevel=ours + 1)


def _argument(found: re.Match[str]) -> str:
    if found["command"]:  # which has options in Python, too
        return found[0]
    plain = found["option"].replace("-", "_")
    name, value = ARGUMENTS.get(plain, plain), found["value"]
    if value is None:
        argument = f"{name}=True" if name in FLAGS else name
    else:
        text = value if value.isdigit() else f'"{value.strip(chr(39) + chr(34))}"'
        argument = f"{name}=[{text}]" if name in LISTS else f"{name}={text}"
    if name in EXCEL:
        return f"excel=pipeline.ExcelOptions({argument if '=' in argument else f'{argument}=...'})"
    if name not in CSV:
        return argument
    if name == "no_header":
        argument = "header=False"
    return f"csv=pipeline.CsvOptions({argument if '=' in argument else f'{argument}=...'})"
