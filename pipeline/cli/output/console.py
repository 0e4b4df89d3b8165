"""Standard output and standard error: lines, their width, the log, and the progress display."""

from __future__ import annotations

import errno
import json
import logging
import os
import shutil
import sys
import textwrap
import time
from datetime import UTC, datetime
from typing import Any, TextIO

import click

from pipeline.cli.options import origin_of
from pipeline.cli.signals import INTERRUPTED
from pipeline.errors import PipelineError
from pipeline.files.paths import AnyPath
from pipeline.progress import FIELDS, Display, bar, log_lines, silent
from pipeline.purchases import Parked
from pipeline.quoting import quoted, visible
from pipeline.wording import Words, option_name

__all__ = [
    "JsonLines",
    "TimedLines",
    "columns",
    "complain",
    "complain_of_usage",
    "complain_of_words",
    "exit_code_of",
    "foreign",
    "is_json",
    "is_timed",
    "json_line",
    "log_to_stderr",
    "naming",
    "notice",
    "on_terminal",
    "progress_display",
    "say",
    "timed_line",
    "warn",
    "with_origin",
    "wrapped",
]


class JsonLines(logging.Formatter):
    """Formats a record as one line: time (UTC), level, event, message, and the event's fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line without its end."""
        fields = {"event": "log", **getattr(record, FIELDS, {})}
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        return json_line(record.levelname.lower(), record.getMessage(), record.created, **fields)


class TimedLines(logging.Formatter):
    """Begins each line with the time, as ``2026-01-31T02:15:00Z``, and the level."""

    converter = staticmethod(time.gmtime)

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%SZ")

    def format(self, record: logging.LogRecord) -> str:
        """Return the line without its end."""
        return visible(super().format(record))


def timed_line(text: str) -> str:
    """Return an error as a line of the log."""
    fields = {"levelname": "ERROR", "msg": text}
    return TimedLines().format(logging.makeLogRecord(fields))


def json_line(level: str, message: str, at: float | None = None, **fields: Any) -> str:
    """Return a line of the log about a moment, in seconds since 1970; without one, about now."""
    moment = datetime.now(UTC) if at is None else datetime.fromtimestamp(at, UTC)
    when = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    event = {"event": fields.pop("event", "log")}
    return json.dumps({"time": when, "level": level, **event, "message": message, **fields})


def is_json() -> bool:
    """Return whether the log is written as JSON."""
    return _has_format(JsonLines)


def is_timed() -> bool:
    """Return whether the lines of the log begin with times."""
    return _has_format(TimedLines)


def _has_format(kind: type[logging.Formatter]) -> bool:
    return any(isinstance(each.formatter, kind) for each in logging.getLogger().handlers)


WIDTH = 80
"""The most columns that are used: longer lines are hard to read."""


def columns(stream: TextIO) -> int | None:
    """Return how many columns of a terminal to use; None if the stream is not a terminal."""
    return min(WIDTH, shutil.get_terminal_size().columns) if stream.isatty() else None


def wrapped(text: str, stream: TextIO | None = None, indent: int = 0) -> str:
    """Return a text that shows its control characters, and fits into the stream's terminal, if any.

    Without a stream, it is for standard error. The further lines of a long line are indented.
    """
    text = visible(text)
    width = columns(stream or sys.stderr)
    if width is None:
        return text
    return "\n".join(
        textwrap.fill(
            line,
            width,
            subsequent_indent=" " * indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for line in text.split("\n")
    )


log = logging.getLogger("pipeline")


def log_to_stderr(quiet: bool = False, as_json: bool = False) -> None:
    """Show the package's log, with UTC times and levels unless standard error is a terminal.

    If it is quiet, it shows errors only.
    """
    shown = _AboveTheBar(sys.stderr)
    text = _Wrapped() if sys.stderr.isatty() else TimedLines()
    shown.setFormatter(JsonLines() if as_json else text)
    logging.basicConfig(handlers=[shown])
    log.setLevel(logging.ERROR if quiet else logging.INFO)


class _AboveTheBar(logging.StreamHandler[TextIO]):
    """Writes a line above the progress bar, which would otherwise share its line."""

    def emit(self, record: logging.LogRecord) -> None:
        bars = sys.modules.get("tqdm")
        if bars is None or not self.stream.isatty():
            super().emit(record)
            return
        with bars.tqdm.external_write_mode(file=self.stream):
            super().emit(record)


class _Wrapped(logging.Formatter):
    """Keeps lines within the width of a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        return wrapped(super().format(record))


def notice(text: str) -> None:
    """Print a line that is not an error to standard error, unless it shows errors only."""
    if is_json() or is_timed():
        log.info(text, extra={FIELDS: {"event": "notice"}})
    elif log.isEnabledFor(logging.WARNING):
        click.echo(wrapped(text), err=True)


def warn(text: str) -> None:
    """Print a warning to standard error, unless it shows errors only."""
    text = Words(text)
    if is_json() or is_timed():
        log.warning(text, extra={FIELDS: {"event": "warning"}})
    else:
        notice(f"Warning: {text}")


def progress_display(elsewhere: Display = log_lines) -> Display:
    """Return a progress bar if standard error is a terminal, else another display."""
    if not log.isEnabledFor(logging.WARNING):  # --quiet
        return silent
    on_screen = sys.stderr is not None and sys.stderr.isatty() and not is_json()
    return bar if on_screen else elsewhere


def on_terminal() -> bool:
    """Return whether a person can be asked: they see standard error and type standard input."""
    streams = (sys.stdin, sys.stderr)
    return all(stream is not None and stream.isatty() for stream in streams)


def say(text: str) -> None:
    """Print to standard output.

    Raises:
        OutputError: standard output cannot be written; see `pipeline.cli.streams`.
    """
    click.echo(visible(text))


ERROR = "Error:"

UNEXPECTED = 1
"""The exit code for an error that nobody foresaw."""


def complain(error: PipelineError | Parked) -> None:
    """Print an error of the package, or why a run stopped."""
    head, event = ERROR, "error"
    if isinstance(error, Parked):
        event = "stopped"
        head = "" if error.message.startswith("Stopped") else "Stopped, can be continued:"
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
    """Return whether errors are lines of JSON: before the log begins, the variable says so."""
    return is_json() or os.environ.get(option_name("log_format"), "").strip().lower() == "json"


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
