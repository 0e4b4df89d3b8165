"""Standard streams that are closed, full or read by nobody: they never change the exit code.

It imports only small modules, because the streams are opened before anything else.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress
from typing import Any

from pipeline.errors import OutputError, reason


def open_streams() -> None:
    """Open the null device in place of a closed standard stream, and guard the two that we write.

    Otherwise the next file to be opened would get the stream's number, and its output (``2>&-``).
    Standard input stays ``None``: a closed input is not an empty table.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    sys.stdout = _StandardOutput(*_parts(sys.stdout or os.fdopen(1, "w", closefd=False)))
    sys.stderr = _StandardError(*_parts(sys.stderr or os.fdopen(2, "w", closefd=False)))


def print_no_more(error: OSError, hint: str) -> None:
    """Discard further standard output, because the interpreter's final flush would fail.

    Raises:
        OutputError: the error is another one than a closed pipe.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
    if error.errno != errno.EPIPE:
        raise OutputError(
            f"Standard output cannot be written to: {reason(error)}.", hint
        ) from error


class _StandardOutput(io.TextIOWrapper):
    """Raises `OutputError` once if it cannot be written; a closed pipe (``| head``) is no error."""

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except OSError as error:
            self._give_up(error)
            return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        print_no_more(error, "Free some space, or print elsewhere.")


class _StandardError(io.TextIOWrapper):
    """Drops what cannot be written, because there is nowhere else to say so."""

    def write(self, text: str) -> int:
        with suppress(OSError):
            super().write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            super().flush()


def _parts(stream: Any) -> tuple[Any, str, str | None, None, bool, bool]:
    """Return the arguments that make a `TextIOWrapper` like this one, which it replaces.

    One without a buffer (``PYTHONUNBUFFERED``) gets one. Without it, Click would meet a full disk
    when it tries an empty text, and hide the error; and a text could be written in part. A
    character that the encoding lacks, as in the name of a file, is escaped and is no error.
    """
    encoding = stream.encoding
    errors = "backslashreplace" if stream.errors == "strict" else stream.errors
    by_line, at_once = stream.line_buffering, stream.write_through
    buffer = stream.detach()
    if isinstance(buffer, io.RawIOBase):
        buffer, by_line, at_once = io.BufferedWriter(buffer), True, False
    return buffer, encoding, errors, None, by_line, at_once
