"""Handles signals, from the first moment of the process to its last."""

from __future__ import annotations

import _thread
import atexit
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

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
