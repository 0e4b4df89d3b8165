"""What public functions and classes do with wrong arguments, and with errors from inside."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from pipeline.errors import PipelineError
from pipeline.wording import in_python

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
        own, theirs = inspect.signature(call), inspect.signature(function).parameters
        named = [each for each in own.parameters.values() if each.kind is not each.VAR_KEYWORD]
        known = {*own.parameters, *without}
        named += [each for name, each in theirs.items() if name not in known]
        call.__signature__ = own.replace(parameters=named)  # type: ignore[attr-defined]
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
    known = inspect.signature(function).parameters
    called = function.__qualname__.removesuffix(".__init__")
    called = f"spark.{called}" if function.__module__ == "pipeline.spark" else called
    for name in names:
        if name not in known:
            return f"{called}() has no argument {name!r}. {_instead(name, called, known)}"
    if len(args) > 1 and known[[*known][1]].kind is inspect.Parameter.KEYWORD_ONLY:
        first, second, *_ = known
        other = "text_columns" if "text_columns" in known else second
        return f"{called}() takes only {first} without a name. Name the others, such as {other}=..."
    return ""


def _instead(name: str, called: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches  # the command line needs none of this

    for argument, kind in HOLDERS.items():
        made = getattr(sys.modules["pipeline"], kind)
        if argument in known and name in inspect.signature(made).parameters:
            return f"Write {argument}=pipeline.{kind}({name}=...)."
    if meant := get_close_matches(name, known):
        return f"Did you mean {' or '.join(meant)}?"
    return f"help(pipeline.{called}) lists its arguments."
