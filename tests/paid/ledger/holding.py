"""A lock that another process holds."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from pipeline.paid.ledger.locks import buyer_lock, job_lock, ledger_lock
from tests.forking import Process

LOCKS: Mapping[str, Callable[..., AbstractContextManager[object]]] = {
    "key": buyer_lock,
    "job": job_lock,
    "ledger": ledger_lock,
}


@contextmanager
def another(lock: str, *names: object) -> Iterator[Process]:
    """Hold a lock in another process, which is killed at the end if it was not before."""
    stdin, ours = os.pipe()  # its end, if this process does not live to kill the other one
    with (
        os.fdopen(ours, "wb"),
        os.fdopen(stdin, "rb") as waiting,
        Process(
            [lock, *names],
            call="tests.paid.ledger.holding:hold",
            stdin=waiting,
            stdout=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


def hold() -> None:
    """Hold the lock that the arguments name, until standard input ends."""
    lock, *names = sys.argv[1:]
    places = [Path(name) if name.startswith("/") else name for name in names]
    with LOCKS[lock](*places, wait=False):
        print("held", flush=True)
        sys.stdin.read()
