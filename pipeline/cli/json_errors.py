"""With ``--json`` an error, too, is one JSON object on standard output: programs read one place."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import click

from pipeline.cli.options import say
from pipeline.cli.signals import ENDED, INTERRUPTED, ended
from pipeline.cli.standard_streams import to_standard_output
from pipeline.errors import OutputError, PipelineError

__all__ = ["JsonErrors"]

VARIABLE = "TENDER_PIPELINE_JSON"

AGAIN = "Run the same command again."

USAGE = "See what there is: tender-pipeline run --help."


class JsonErrors(click.Command):
    """A command whose errors are printed as JSON where its output is; they are raised then."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Read the arguments; which of them are right is not known yet where one is wrong."""
        with _printed(wanted(args)):
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        beside_the_table = to_standard_output(ctx.params)
        with _printed(ctx.params["as_json"], beside_the_table):
            return super().invoke(ctx)


def wanted(args: Sequence[str]) -> bool:
    """Tell whether arguments that may be wrong, or the variable, ask for JSON."""
    said = os.environ.get(VARIABLE, "").strip().lower()
    return "--json" in args or said in ("1", "true", "t", "yes", "y", "on")


@contextmanager
def _printed(as_json: bool, beside_the_table: bool = False) -> Iterator[None]:
    try:
        yield
    except (
        PipelineError,
        click.ClickException,
        KeyboardInterrupt,
        click.Abort,
        SystemExit,
    ) as error:
        figures = _figures(error)
        if as_json and figures is not None:
            with suppress(OSError, OutputError):  # the exit code has to do
                _print(json.dumps(figures), beside_the_table)
        raise


def _print(figures: str, beside_the_table: bool) -> None:
    if beside_the_table:
        click.echo(figures, err=True)
    else:
        say(figures)


def _figures(error: BaseException) -> dict[str, Any] | None:
    match error:
        case PipelineError(message=message, hint=hint, exit_code=code):
            return {"error": message, "hint": hint, "exit_code": code}
        case click.UsageError(exit_code=code):
            return {"error": error.format_message(), "hint": USAGE, "exit_code": code}
        case click.ClickException(exit_code=code):
            return {"error": error.format_message(), "hint": "", "exit_code": code}
        case SystemExit(code=int(code)) if code in ENDED:
            return {"error": ended(code), "hint": AGAIN, "exit_code": code}
        case KeyboardInterrupt() | click.Abort():
            return {"error": ended(INTERRUPTED), "hint": AGAIN, "exit_code": INTERRUPTED}
        case _:
            return None
