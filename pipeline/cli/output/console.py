"""Standard output and standard error: lines, the log, and the progress display."""

from __future__ import annotations

import errno
import logging
import os
import sys
import time

import click

from pipeline.errors import OutputError
from pipeline.progress import Display, bar, log_lines

__all__ = ["log_to_stderr", "on_terminal", "progress_display", "say", "silence"]


def log_to_stderr() -> None:
    """Show the package's log, with UTC times and levels unless standard error is a terminal."""
    shown = logging.StreamHandler(sys.stderr)
    shown.setFormatter(logging.Formatter() if sys.stderr.isatty() else _WithTimes())
    logging.basicConfig(handlers=[shown])
    logging.getLogger("pipeline").setLevel(logging.INFO)


class _WithTimes(logging.Formatter):
    """Begins each line with the time, as ``2026-01-31T02:15:00Z``, and the level."""

    converter = staticmethod(time.gmtime)

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%SZ")


def progress_display(elsewhere: Display = log_lines) -> Display:
    """Return a progress bar if standard error is a terminal, else another display."""
    return bar if sys.stderr is not None and sys.stderr.isatty() else elsewhere


def on_terminal() -> bool:
    """Tell whether a person can be asked: they see standard error and type standard input."""
    streams = (sys.stdin, sys.stderr)
    return all(stream is not None and stream.isatty() for stream in streams)


def say(text: str) -> None:
    """Print to standard output; a closed pipe (``| head``) is not an error.

    Raises:
        OutputError: standard output cannot be written for another reason.
    """
    try:
        click.echo(text)
    except OSError as error:
        silence()
        if error.errno != errno.EPIPE:
            raise OutputError(
                f"Standard output cannot be written to: {error.strerror or error}.",
                "Free some space, or print elsewhere.",
            ) from error


def silence() -> None:
    """Discard further standard output, because the interpreter's final flush would fail."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
