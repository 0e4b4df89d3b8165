"""What a signal does to the command line, from the first moment of a process to its last."""

from __future__ import annotations

import atexit
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = [
    "ENDED",
    "HUNG_UP",
    "INTERRUPTED",
    "TERMINATED",
    "ended",
    "leaving_at_once",
    "listen",
]

HUNG_UP, INTERRUPTED, TERMINATED = 129, 130, 143

ENDED = {HUNG_UP: "Hung up", INTERRUPTED: "Interrupted", TERMINATED: "Terminated"}


def ended(code: int) -> str:
    """Say how a signal ended the process, of which this is the exit code."""
    return f"{ENDED[code]}; no output was written."


def listen() -> None:
    """Let the signals that end a process raise `SystemExit` with their code.

    So it is left by way of every ``finally``, and no half-written file stays.
    """
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup would have it
            signal.signal(number, _raise_exit)
    atexit.register(_ignore)


@contextmanager
def leaving_at_once() -> Iterator[None]:
    """End the process at an interrupt, without raising anything.

    While modules are imported nothing is open yet that must be put in order, and what an
    interrupt raises comes out of some of them as another error, or not at all.
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
    """Let nothing change the exit code once everything is done but the interpreter's own end."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def _raise_exit(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the signal's shape
    raise SystemExit(128 + number)


def _leave(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
    try:
        os.write(2, f"{ended(INTERRUPTED)}\n".encode())
    finally:
        os._exit(128 + number)
