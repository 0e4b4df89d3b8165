"""An interrupt at any moment: the cell of a notebook that runs again must be able to buy."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.forking import Process

INTERRUPTED = """
import sys
from contextlib import closing
from itertools import count
from pathlib import Path
from pipeline.files import sqlite
from pipeline.paid.ledger import database, locks
from pipeline.paid.ledger.locks import buyer_lock

place = Path("ledger.db")
ledger = database.Database(place)  # the others open faster: its log stays


class InterruptAt:
    '''Raises `KeyboardInterrupt` before the n-th instruction of a block in the package.'''

    def __init__(self, moment):
        self.left = moment

    def __enter__(self):
        sys.settrace(self.trace)

    def __exit__(self, *_):
        sys.settrace(None)

    def trace(self, frame, event, _):
        if not frame.f_code.co_filename.endswith(TRACED):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            self.left -= 1
            if self.left == 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self.trace


def lock():
    return buyer_lock("https://service.example", "key", wait=False)


def in_lock(interrupt):
    with interrupt, lock():
        pass


def in_transaction(interrupt):
    with closing(database.Database(place)) as opened, interrupt:
        with opened.transaction() as connection:
            connection.execute("DELETE FROM jobs")


def check_lock():
    with lock():
        pass


def check_transaction():
    with ledger.transaction():
        pass


database.PATIENCE_S = 0.0
for work, check, TRACED in (
    (in_lock, check_lock, ("contextlib.py", locks.__file__)),
    (in_transaction, check_transaction, ("contextlib.py", database.__file__, sqlite.__file__)),
):
    for moment in count(1, 2):  # every second one, to save time
        interrupt = InterruptAt(moment)
        try:
            work(interrupt)
        except KeyboardInterrupt:
            pass
        try:
            check()
        except Exception as error:
            sys.exit(f"{work.__name__}, instruction {moment}: {error}")
        if interrupt.left > 0:
            break
    print(moment)
"""


def test_an_interrupt_at_any_moment_leaves_nothing_locked(tmp_path: Path) -> None:
    process = Process(
        [INTERRUPTED],
        call="tests.forking:script",
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        out, err = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        pytest.fail("it hangs")
    assert (process.returncode, err) == (0, "")
    assert all(int(moments) > 100 for moments in out.split())
