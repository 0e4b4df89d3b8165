"""Errors on standard error: what happened, then what to do, for people or as a line of JSON."""

from __future__ import annotations

import errno
import os
import sys

import click

from pipeline.cli.options import origin_of
from pipeline.cli.output.console import wrapped
from pipeline.cli.output.log_formats import is_json, is_timed, json_line, timed_line, wanted
from pipeline.cli.signals import INTERRUPTED
from pipeline.errors import PipelineError
from pipeline.files.paths import AnyPath
from pipeline.paid.result import Parked
from pipeline.quoting import quoted

__all__ = [
    "complain",
    "complain_of_usage",
    "complain_of_words",
    "exit_code_of",
    "foreign",
    "naming",
    "with_origin",
]

ERROR = "Error:"

UNEXPECTED = 1
"""The exit code for an error that nobody foresaw."""


def complain(error: PipelineError | Parked) -> None:
    """Print an error of the package, or why a run stopped."""
    head, event = ERROR, "error"
    if isinstance(error, Parked):
        event = "stopped"
        head = "" if error.message.startswith("Stopped") else "Stopped (resumable):"
    _print(head, error.message, error.hint, event=event, exit_code=error.exit_code)


def naming(table: AnyPath, error: PipelineError) -> PipelineError:
    """Let an error name the table that it is about; most messages begin with it."""
    if not error.message.startswith(str(table)):
        error.message = f"{table}: {error.message}"
    return error


def complain_of_usage(error: click.ClickException) -> None:
    """Print an error about the command line, with its usage if that helps."""
    error = with_origin(error)
    if as_json():
        _print("", error.format_message(), event="error", exit_code=error.exit_code)
    else:
        error.show()


def with_origin(error: click.ClickException) -> click.ClickException:
    """Return an error that names the variable or the file that a wrong value comes from."""
    match error:
        case click.BadParameter(ctx=click.Context() as context, param=click.Parameter() as param):
            if origin := origin_of(context, param):
                message = f"{error.message} It comes from {origin}."
                return click.BadParameter(message, context, param, error.param_hint)
    return error


def complain_of_words(text: str, exit_code: int) -> None:
    """Print why the process ended."""
    _print("", text, event="ended", exit_code=exit_code)


def exit_code_of(error: BaseException) -> int:
    """Return the exit code of a command that an error ended."""
    match error:
        case PipelineError(exit_code=code) | SystemExit(code=int(code)):
            return code
        case click.Abort() | KeyboardInterrupt():
            return INTERRUPTED
        case PermissionError(filename=str()) | OSError(errno=errno.ENAMETOOLONG, filename=str()):
            return PipelineError.exit_code
        case click.ClickException(exit_code=code):
            return code
        case _:
            return UNEXPECTED


def foreign(error: BaseException) -> PipelineError:
    """Return what to print for an error that is not one of the package."""
    match error:
        case PermissionError(filename=str(path)):  # this user may not look at it
            found = PipelineError(
                f"{path} cannot be used: {error.strerror}.",
                "Check the permissions of the path and of the folders above it.",
            )
        case OSError(errno=errno.ENAMETOOLONG, filename=str(path)):  # such as a text
            found = PipelineError(
                f"{quoted(path)} is too long for the path of a file.",
                "Give the path of a table. To find codes for a few words: tender-pipeline codes "
                "search WORDS.",
            )
        case _:
            what = f"{type(error).__name__}: {error}".rstrip(": ")
            found = PipelineError(
                f"An unexpected error in tender-pipeline or its installation: {what}",
                "Run the same command with --debug to see where it happened, and report that.",
            )
    found.exit_code = exit_code_of(error)
    return found


def as_json() -> bool:
    """Return whether errors are lines of JSON: before the log begins, the arguments say so."""
    return is_json() or wanted(sys.argv[1:])


def _print(head: str, message: str, hint: str = "", *, event: str, exit_code: int) -> None:
    """Print to standard error."""
    if as_json():
        fields = {"event": event, "hint": hint or None, "exit_code": exit_code}
        text = json_line("error", message, None, **fields)
    elif is_timed():
        text = timed_line(f"{head.removeprefix(ERROR)} {message}".strip() + (hint and f"\n{hint}"))
    else:
        lines = wrapped(f"{head} {message}".strip() + (f"\n{hint}" if hint else ""))
        text = lines.replace(head, _coloured(head), 1) if head else lines
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def _coloured(text: str) -> str:
    """Return a text in red on a terminal, unless the user wants no colours (no-color.org)."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return click.style(text, "red", bold=True) if sys.stderr.isatty() and not plain else text
