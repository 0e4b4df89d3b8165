"""Wraps text to the width of a terminal."""

from __future__ import annotations

import shutil
import sys
import textwrap
from typing import TextIO

__all__ = ["columns", "wrapped"]

WIDTH = 80
"""The most columns that are used: longer lines are hard to read."""


def columns(stream: TextIO) -> int | None:
    """Return how many columns of a terminal to use; None if the stream is not a terminal."""
    return min(WIDTH, shutil.get_terminal_size().columns) if stream.isatty() else None


def wrapped(text: str, stream: TextIO | None = None, indent: int = 0) -> str:
    """Return a text whose lines fit into the terminal, if the stream is one.

    Args:
        text: the text.
        stream: where it goes; None for standard error.
        indent: spaces before each further line of a long line.
    """
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
