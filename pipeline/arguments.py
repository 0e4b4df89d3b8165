"""Checks of arguments, and what public functions do with wrong ones and with errors."""

from __future__ import annotations

import inspect
import operator
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from importlib.util import find_spec
from numbers import Real
from typing import Any, ParamSpec, TypeVar

from pipeline.errors import PipelineError, SettingsError
from pipeline.wording import in_python, option

Error = TypeVar("Error", bound=BaseException)

Arguments = ParamSpec("Arguments")
Returned = TypeVar("Returned")

Made = TypeVar("Made")

SHORTENED = (PipelineError, KeyboardInterrupt)
"""What a public function catches to pass through `shortened`."""

HOLDERS = {
    "csv": "CsvOptions",
    "excel": "ExcelOptions",
    "service": "PaidService",
    "subject": "PaidService",
}
"""The arguments that hold further ones, and the class of each."""


def public(function: Callable[Arguments, Returned]) -> Callable[Arguments, Returned]:
    """Decorate a public function or method: its errors name arguments, also those that it lacks.

    For a class, decorate it with `public_class`. A call from inside the package is as it would be
    without the decoration: the outermost public function words the error.
    """

    def call(*args: Arguments.args, **named: Arguments.kwargs) -> Returned:
        if sys._getframe(1).f_globals.get("__name__", "").startswith("pipeline."):
            return function(*args, **named)
        if wrong := _wrong_arguments(function, args, named):
            raise TypeError(wrong)
        try:
            return function(*args, **named)
        except SHORTENED as error:
            raise shortened(error) from None

    call.__code__ = call.__code__.replace(co_name=function.__name__)  # what a traceback shows
    return wraps(function)(call)


def public_class(made: type[Made]) -> type[Made]:
    """Decorate a public class, whose constructor is then like a `public` function."""
    made.__init__ = public(made.__init__)  # type: ignore[method-assign]
    return made


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


def with_options_of(
    function: Callable[..., object], *without: str
) -> Callable[[Callable[Arguments, Returned]], Callable[Arguments, Returned]]:
    """Decorate a function whose ``**options`` are the other arguments of another one, but for some.

    They are then known to ``help``, to notebooks and to `public`.
    """

    def signed(call: Callable[Arguments, Returned]) -> Callable[Arguments, Returned]:
        signature, options = inspect.signature(call), inspect.signature(function).parameters
        named = [
            parameter
            for parameter in signature.parameters.values()
            if parameter.kind is not parameter.VAR_KEYWORD
        ]
        names = {*signature.parameters, *without}
        named += [parameter for name, parameter in options.items() if name not in names]
        call.__signature__ = signature.replace(parameters=named)  # type: ignore[attr-defined]
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


def shortened(error: Error) -> Error:
    """Return an error in Python's words for a public function to raise ``from None``.

    Its traceback ends at that function: a notebook shows the reader's own line, not the inside of
    the package. The original cause is kept as ``__context__``.
    """
    if isinstance(error, PipelineError):
        error.message, error.hint = in_python(error.message), in_python(error.hint)
        error.args = (error.message, error.hint, *error.args[2:])
    return error.with_traceback(None)


def _wrong_arguments(
    function: Callable[..., object], args: Sequence[object], names: Iterable[str]
) -> str:
    """Return what is wrong with the arguments, and what to write instead; "" if nothing is."""
    parameters = inspect.signature(function).parameters
    called = function.__qualname__.removesuffix(".__init__")
    called = f"spark.{called}" if function.__module__ == "pipeline.spark" else called
    for name in names:
        if name not in parameters:
            return f"{called}() has no argument {name!r}. {_instead(name, called, parameters)}"
    if len(args) > 1 and parameters[[*parameters][1]].kind is inspect.Parameter.KEYWORD_ONLY:
        first, second, *_ = parameters
        other = "text_columns" if "text_columns" in parameters else second
        return f"{called}() takes only {first} without a name. Name the others, such as {other}=..."
    return ""


def _instead(name: str, called: str, names: Iterable[str]) -> str:
    from difflib import get_close_matches  # the command line needs none of this

    for argument, kind in HOLDERS.items():
        made = getattr(sys.modules["pipeline"], kind)
        if argument in names and name in inspect.signature(made).parameters:
            return f"Write {argument}=pipeline.{kind}({name}=...)."
    if meant := get_close_matches(name, names):
        return f"Did you mean {' or '.join(meant)}?"
    return f"help(pipeline.{called}) lists its arguments."


def check_choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Refuse a value that is none of the choices.

    Raises:
        SettingsError: it is none.
    """
    if value not in choices:
        raise SettingsError(
            f"{option(name)} is {value!r}.", f"{option(name)} must be one of {', '.join(choices)}."
        )


def check_flag(name: str, value: object) -> None:
    """Refuse a value that is neither True nor False: ``"no"`` would count as yes.

    Raises:
        SettingsError: the value is not a bool.
    """
    if not isinstance(value, bool):
        raise SettingsError(f"{name} is {value!r}.", f"{name} must be True or False.")


def check_column(name: str, value: object) -> None:
    """Refuse a value that is not the name of a column.

    Raises:
        SettingsError: it is none.
    """
    if not isinstance(value, str) or not value:
        called = option(name)
        raise SettingsError(f"{called} is {value!r}.", f"{called} must name a column.")


def whole_number(name: str, value: Any, low: int, high: int = sys.maxsize) -> int:
    """Return a whole number of any integer type, NumPy's too, as a Python int.

    Raises:
        SettingsError: the value is not a whole number, or outside the bounds.
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool) or not low <= number <= high:
        top = f" to {high}" if high < sys.maxsize else ""
        called = option(name)
        hint = f"{called} must be a whole number from {low}{top}."
        raise SettingsError(f"{called} is {value!r}.", hint)
    return number


def fraction(name: str, value: Any, over_zero: bool = False) -> float:
    """Return a fraction of any real type, NumPy's too, as a Python float.

    Raises:
        SettingsError: the value is not a number, or outside 0 to 1.
    """
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else -1.0
    if not (0.0 < number <= 1.0 or (number == 0.0 and not over_zero)):
        hint = "over 0, up to 1, such as 0.8" if over_zero else "from 0 to 1, such as 0.5"
        called = option(name)
        raise SettingsError(f"{called} is {value!r}.", f"{called} must be a fraction {hint}.")
    return number


NEEDED = ("fcntl", "resource")
"""The POSIX-only modules of Python that the package imports."""


def check_platform() -> None:
    """Refuse a system without the file locks that outputs and ledgers need.

    Raises:
        SettingsError: the system is not POSIX.
    """
    if any(find_spec(name) is None for name in NEEDED):
        raise SettingsError(
            "tender-pipeline needs a POSIX system, such as Linux or macOS; "
            f"this is {sys.platform}.",
            "On Windows, install it in the Windows Subsystem for Linux (WSL).",
        )
