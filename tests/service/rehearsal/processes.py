"""The two commands of a rehearsal as a user starts them: the service, and the run that pays it."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from tests.forking import Process

__all__ = ["Done", "finished", "started", "until"]

PATIENCE_S = 60.0
"""How long anything may take before the test gives up."""

POLL_S = 0.01


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended.

    Attributes:
        exit_code: its exit code.
        out: what it printed.
        err: what it said besides.
    """

    exit_code: int
    out: str
    err: str


def finished(process: Process) -> Done:
    """Wait for a command to end, and return how it did."""
    out, err = process.communicate(timeout=PATIENCE_S)
    return Done(process.returncode, out, err)


@contextmanager
def started(arguments: Sequence[object], key: str | None) -> Iterator[Process]:
    """Start a command with a key or without; it does not outlive the block."""
    env = {name: value for name, value in os.environ.items() if name != "TENDER_PIPELINE_API_KEY"}
    if key is not None:
        env["TENDER_PIPELINE_API_KEY"] = key
    pipe = subprocess.PIPE
    with Process(arguments, env=env, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def until(happened: Callable[[], bool]) -> None:
    """Wait until something is so.

    Raises:
        TimeoutError: it takes too long.
    """
    last = time.monotonic() + PATIENCE_S
    while not happened():
        if time.monotonic() > last:
            raise TimeoutError
        time.sleep(POLL_S)
