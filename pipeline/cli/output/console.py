"""Standard output and standard error: lines, their width, the log, and the progress display."""

from __future__ import annotations

import logging
import shutil
import sys
import textwrap
from typing import TextIO

import click

from pipeline.cli.output.log_formats import JsonLines, TimedLines, is_json, is_timed
from pipeline.progress import FIELDS, Display, bar, log_lines, silent
from pipeline.quoting import visible

__all__ = [
    "columns",
    "log_to_stderr",
    "notice",
    "on_terminal",
    "progress_display",
    "say",
    "warn",
    "wrapped",
]

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
