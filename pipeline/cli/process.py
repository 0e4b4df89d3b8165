"""The process: its signals, from its first moment to its last, and its standard streams.

Signals end it in good order. Streams that are closed, full or read by nobody never change its exit
code. This module imports only small ones, because it is needed before anything else.
"""

from __future__ import annotations

import _thread
import atexit
import errno
import io
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from pipeline.errors import OutputError, reason

HUNG_UP, INTERRUPTED, TERMINATED = 129, 130, 143

IMPORTLIB = "<frozen importlib._bootstrap>"
"""The file that Python names for the code that takes and releases the locks of imports."""

AGAIN_S = 0.01

ENDED = {HUNG_UP: "Hung up", INTERRUPTED: "Interrupted", TERMINATED: "Terminated"}


class Ended(SystemExit):
    """A signal ended a run that had done some of its work, which `done` says for people."""

    def __init__(self, code: int, done: str) -> None:
        super().__init__(code)
        self.done = done


@contextmanager
def after(done: Callable[[], str]) -> Iterator[None]:
    """Let the message about a signal say what was done before it, in words."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit) as stop:
        code = INTERRUPTED if isinstance(stop, KeyboardInterrupt) else stop.code
        if code not in ENDED:
            raise
        raise Ended(code, done()) from stop


def end_message(code: int, stop: BaseException | None = None) -> str:
    """Return the message for a process that a signal ended with this exit code."""
    done = f"; {stop.done}" if isinstance(stop, Ended) else ""
    return f"{ENDED.get(code, 'Ended')}{done}."


def listen() -> None:
    """Make the signals that end a process raise `SystemExit` with their exit code.

    So every ``finally`` runs, and no half-written file is left.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup would have it
            signal.signal(number, _raise_exit)
    atexit.register(_ignore)


@contextmanager
def leaving_at_once() -> Iterator[None]:
    """End the process at an interrupt, without raising an exception.

    While modules are imported, nothing is open that must be cleaned up, and some modules turn a
    `KeyboardInterrupt` into another error, or swallow it.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:  # ignored, as in the background of a script
        yield
        return
    signal.signal(signal.SIGINT, _leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _ignore() -> None:
    """Keep the exit code while the interpreter shuts down."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def _raise_exit(number: int, frame: FrameType | None) -> None:
    """Raise `SystemExit`, but not while a lock of imports is taken or released.

    There, the lock would stay taken, and Python may drop the exception. The run would go on, and
    its threads would wait for ever when they import something.
    """
    if frame is not None and frame.f_code.co_filename == IMPORTLIB:
        _thread.start_new_thread(_send_again, (number,))
        return
    raise SystemExit(128 + number)


def _send_again(number: int) -> None:
    time.sleep(AGAIN_S)
    os.kill(os.getpid(), number)


def _leave(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    try:
        os.write(2, f"{end_message(INTERRUPTED)}\n".encode())
    finally:
        os._exit(128 + number)


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
