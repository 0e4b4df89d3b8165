"""Standard output and standard error: lines, their width, the log, progress, errors and tables."""

from __future__ import annotations

import errno
import json
import logging
import os
import re
import shutil
import sys
import textwrap
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Literal, TextIO

import click

from pipeline.cli.options import add_origins, repeat_option
from pipeline.cli.process import INTERRUPTED, end_message
from pipeline.errors import PipelineError
from pipeline.files.paths import AnyPath
from pipeline.json_log import FIELDS, JsonLines
from pipeline.progress import Display, bar, log_lines, silent
from pipeline.purchases import Parked
from pipeline.wording import Words, aligned, option_name, quoted, visible

Form = Literal["text", "log", "json"]


def form() -> Form:
    """Return how a command prints to standard error, once its log has begun.

    That is text for people; lines of a log, with times and levels; or a JSON object a line. Before
    its log begins, the variable says it.
    """
    formatters = (handler.formatter for handler in logging.getLogger().handlers)
    begun = next(
        (formatter.form for formatter in formatters if isinstance(formatter, _Lines)), None
    )
    stated = os.environ.get(option_name("log_format"), "").strip().lower()
    return begun or ("json" if stated == "json" else "text")


class _Lines(JsonLines):
    """Formats a line of the log: its fields are for programs, and so is its event."""

    def __init__(self, form: Form) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%SZ")
        self.converter = time.gmtime
        self.form = form

    def format(self, record: logging.LogRecord) -> str:
        """Return the line without its end."""
        match self.form:
            case "json":
                setattr(record, FIELDS, {"event": "log", **getattr(record, FIELDS, {})})
                return super().format(record)
            case "log":  # a line break, as in the name of a file, would begin another line
                return re.sub(r"\n *", " ", visible(logging.Formatter.format(self, record)))
            case _:
                return wrap(logging.Formatter().format(record))


WIDTH = 80
"""The most columns that are used: longer lines are hard to read."""


def columns(stream: TextIO) -> int | None:
    """Return how many columns of a terminal to use; None if the stream is not a terminal."""
    return min(WIDTH, shutil.get_terminal_size().columns) if stream.isatty() else None


def wrap(text: str, stream: TextIO | None = None, indent: int = 0) -> str:
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
    text: Form = "text" if sys.stderr.isatty() else "log"
    begun = (
        handler for handler in logging.getLogger().handlers if isinstance(handler, _AboveTheBar)
    )
    shown = next(begun, None) or _AboveTheBar(sys.stderr)
    shown.setFormatter(_Lines("json" if as_json else text))
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


def notice(text: str) -> None:
    """Print a line that is not an error to standard error, unless it shows errors only."""
    _tell(logging.INFO, text, "notice", text)


def warn(text: str) -> None:
    """Print a warning to standard error, unless it shows errors only."""
    text = Words(text)
    _tell(logging.WARNING, text, "warning", f"Warning: {text}")


def _tell(level: int, text: str, event: str, in_words: str) -> None:
    """Print a line of the log or, before it begins and for people, words."""
    if form() != "text":
        log.log(level, text, extra={FIELDS: {"event": event}})
    elif log.isEnabledFor(logging.WARNING):
        click.echo(wrap(in_words), err=True)


def progress_display(elsewhere: Display = log_lines) -> Display:
    """Return a progress bar if standard error is a terminal, else another; none if it is quiet."""
    if not log.isEnabledFor(logging.WARNING):
        return silent
    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    return bar if is_terminal and form() != "json" else elsewhere


def on_terminal() -> bool:
    """Return whether a person can be asked: they see standard error and type standard input."""
    streams = (sys.stdin, sys.stderr)
    return all(stream is not None and stream.isatty() for stream in streams)


def ask(question: str) -> bool:
    """Ask a person yes or no; without a terminal, the answer is no.

    Raises:
        click.Abort: there was no answer.
    """
    if not on_terminal():
        return False
    try:
        return click.confirm(wrap(question), err=True)
    except click.Abort:
        click.echo(err=True)  # ends the line of the question
        raise


def say(text: str) -> None:
    """Print to standard output.

    Raises:
        OutputError: standard output cannot be written; see `pipeline.cli.process`.
    """
    click.echo(visible(text))


ERROR = "Error:"

UNEXPECTED = 1
"""The exit code for an error that nobody foresaw."""


def print_end(error: BaseException) -> int:
    """Print why a command ended before its end, and return its exit code."""
    problem = explain_end(error)
    match error:
        case click.exceptions.NoArgsIsHelpError():
            error.show()
        case click.Abort() | KeyboardInterrupt() | SystemExit():
            _print("", problem.message, event="ended", exit_code=problem.exit_code)
        case _:
            print_error(problem)
    return problem.exit_code


def print_error(error: PipelineError | Parked) -> None:
    """Print an error of the package, or why a run stopped."""
    head, event = ERROR, "error"
    if isinstance(error, Parked):
        event = "stopped"
        head = "" if error.message.startswith("Stopped") else "Stopped, can be continued:"
    _print(head, error.message, error.hint, event=event, exit_code=error.exit_code)


def name_table(table: AnyPath, error: PipelineError) -> PipelineError:
    """Let an error name the table that it is about; most messages begin with it."""
    if not error.message.startswith(str(table)):
        error.message = f"{table}: {error.message}"
    return error


AGAIN = "Run the same command again."


def explain_end(error: BaseException) -> PipelineError:
    """Return whatever ended a command as an error of the package, with its exit code."""
    match error:
        case PipelineError():
            return error
        case click.ClickException(exit_code=code):
            ctx = error.ctx if isinstance(error, click.UsageError) else None
            what = "commands" if ctx and isinstance(ctx.command, click.Group) else "options"
            message = error.format_message()
            see = f"See all {what}: {ctx.command_path} --help." if ctx else ""
            if ctx and "unexpected extra argument" in message:
                see = f"{repeat_option(ctx)} {see}".lstrip()
            problem = PipelineError(message, see)
            if ctx:
                add_origins(ctx, problem)
        case click.Abort() | KeyboardInterrupt():
            code, problem = INTERRUPTED, PipelineError(end_message(INTERRUPTED), AGAIN)
        case SystemExit(code=int(code)):
            problem = PipelineError(end_message(code, error), AGAIN)
        case OSError(errno=errno.EACCES | errno.EPERM | errno.ENAMETOOLONG, filename=str(path)):
            code = PipelineError.exit_code
            problem = PipelineError(
                f"{quoted(path)} cannot be used: {error.strerror}.",
                "Give the path of a file, and check the permissions of the folders above it.",
            )
        case FileNotFoundError(filename=None):  # as only the current folder has no name
            code = PipelineError.exit_code
            problem = PipelineError(
                "The current folder no longer exists.", "Go to another: cd FOLDER."
            )
        case MemoryError():
            code, hint = UNEXPECTED, "Free some, or use fewer processes, if there are several."
            problem = PipelineError("There is not enough memory.", hint)
        case _:
            code, what = UNEXPECTED, f"{type(error).__name__}: {error}".rstrip(": ")
            problem = PipelineError(
                f"An unexpected error in tender-pipeline or its installation: {what}",
                "Run the same command with --debug to see where it happened, and report that.",
            )
    problem.exit_code = code
    return problem


def _print(head: str, message: str, hint: str = "", *, event: str, exit_code: int) -> None:
    """Print to standard error."""
    if (now := form()) == "text":
        text = wrap(f"{head} {message}\n{hint}".strip())
    else:
        fields = {"event": event, "hint": hint or None, "exit_code": exit_code}
        if now == "log":
            message = f"{head.removeprefix(ERROR)} {message}\n{hint}".strip()
        values = {"levelname": "ERROR", "msg": message, FIELDS: fields}
        text = _Lines(now).format(logging.makeLogRecord(values))
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


PRINTED = 100
"""Problems that are printed; badly damaged books may have a million."""


def count_problems(problems: Iterator[str]) -> tuple[list[str], int]:
    """Return the first problems, in words, and how many there are."""
    first = list(islice(problems, PRINTED))
    return first, len(first) + sum(1 for _ in problems)


def print_problems(
    first: Sequence[str], count: int, totals: str, figures: Mapping[str, Any] | None
) -> None:
    """Print the first problems, and what was checked; as JSON if there are figures."""
    if figures is not None:
        say(json.dumps({**figures, "problems": count, "first_problems": first}))
        return
    unprinted = [f"and {count - PRINTED:,} more"] if count > PRINTED else []
    agree = [] if count else ["everything agrees"]
    say("\n".join([*first, *unprinted, totals, *agree]))


def iso(seconds: float | None) -> str | None:
    """Return a time since 1970 in ISO 8601; damaged books may hold any number."""
    if seconds is None:
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return "no time"


COUNTS = ("attempts", "calls", "keys_in_use", "unconfirmed", "unknown")
"""The beginnings of names of numbers that are written with commas; others identify something."""


def table(
    figures: Iterable[Mapping[str, Any]], headings: Mapping[str, str], numbers: int = 0
) -> Iterator[str]:
    """Yield a table of JSON types, with a column for each name that has a heading.

    The last ``numbers`` columns are right-aligned.
    """
    rows = [[_cell(name, row.get(name)) for name in headings] for row in figures]
    yield from aligned([*headings.values()], rows, numbers)


def utc(written: str | None) -> str:
    """Return a time in ISO 8601 for people, such as ``2026-01-31 02:15:00``; "" for None."""
    return _cell("at", written)


def _cell(name: str, value: Any) -> str:
    """Return a value for people: without the control characters that users can type."""
    if value is None:
        return ""
    if isinstance(value, int):
        return f"{value:,}" if name.startswith(COUNTS) else str(value)
    if name.endswith("at"):
        value = value[:19].replace("T", " ")
    return "".join(character if character.isprintable() else " " for character in value).strip()
