"""With ``--json``, prints an error as a JSON object where a program reads the summary."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import click

from pipeline.cli.options import origin_of
from pipeline.cli.signals import ENDED, INTERRUPTED, ended
from pipeline.errors import InputError, OutputError, PipelineError, SettingsError

__all__ = ["JsonErrors"]

AGAIN = "Run the same command again."


class JsonErrors(click.Command):
    """A command that prints its errors as JSON if asked with ``--json``, and then raises them.

    They go to standard output, or to standard error if the table goes to standard output.
    """

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Read the arguments; if one is wrong, the others are not known yet."""
        with _printed(self._asked(args), self.table_may_go_to_stdout(args)):
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        asked, beside = ctx.params.get("as_json", False), self.table_goes_to_stdout(ctx)
        with _printed(asked, beside), _places_named(ctx):
            return super().invoke(ctx)

    def table_may_go_to_stdout(self, args: Sequence[str]) -> bool:  # noqa: ARG002
        """Return whether the command may write a table there, by arguments that may be wrong."""
        return False

    def table_goes_to_stdout(self, ctx: click.Context) -> bool:  # noqa: ARG002
        """Return whether the command writes a table there."""
        return False

    def _asked(self, args: Sequence[str]) -> bool:
        """Return whether the arguments, of which some may be wrong, or a variable ask for JSON."""
        for option in self.params:
            if option.name == "as_json":
                with suppress(click.BadParameter):  # which click reports, too
                    return "--json" in args or click.BOOL(os.environ.get(str(option.envvar), "no"))
        return False


@contextmanager
def _printed(as_json: bool, beside_the_table: bool) -> Iterator[None]:
    try:
        yield
    except (Exception, KeyboardInterrupt, SystemExit) as error:
        if as_json:
            _print(error, beside_the_table)
        raise


def _print(error: BaseException, beside_the_table: bool) -> None:
    from pipeline.cli.output.console import say  # --help needs no log

    figures = _figures(error)
    if figures is not None:
        printed = partial(click.echo, err=True) if beside_the_table else say
        with suppress(OutputError):  # the exit code remains
            printed(json.dumps(figures))


def _figures(error: BaseException) -> dict[str, Any] | None:
    from pipeline.cli.output.console import foreign, with_origin

    match error:
        case PipelineError(message=message, hint=hint, exit_code=code):
            return {"error": message, "hint": hint, "exit_code": code}
        case click.UsageError(ctx=click.Context(command_path=command), exit_code=code):
            message = with_origin(error).format_message()
            hint = f"See all options: {command} --help."
            return {"error": message, "hint": hint, "exit_code": code}
        case click.ClickException(exit_code=code):
            return {"error": error.format_message(), "hint": "", "exit_code": code}
        case SystemExit(code=int(code)) if code in ENDED:
            return {"error": ended(code, error), "hint": AGAIN, "exit_code": code}
        case KeyboardInterrupt() | click.Abort():
            return {"error": ended(INTERRUPTED), "hint": AGAIN, "exit_code": INTERRUPTED}
        case Exception() if not isinstance(error, click.exceptions.Exit):
            return _figures(foreign(error))
        case _:
            return None


@contextmanager
def _places_named(context: click.Context) -> Iterator[None]:
    """Add to an error about options where each was set, if it was not on the command line.

    Raises:
        PipelineError: the error, with a longer hint.
    """
    try:
        yield
    except (SettingsError, InputError) as error:
        error.hint = " ".join([error.hint, *_places(context, str(error))])
        raise


def _places(context: click.Context, message: str) -> Iterator[str]:
    """Yield a sentence about each option in an error that a file or a variable set."""
    mentioned = set(re.findall(r"--[a-z][a-z-]+", message))
    for each in context.command.params:
        for option in mentioned.intersection(each.opts):
            if (origin := origin_of(context, each)) and origin not in message:
                yield f"{option} comes from {origin}."
