from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading

import pytest

from pipeline.interruption import Interruption, Work


def test_without_one_the_work_is_waited_for() -> None:
    interruption, go = Interruption(), threading.Event()
    interruption.check()
    work = Work(lambda: go.wait() and "done")
    work.begin()
    threading.Timer(0.01, go.set).start()
    interruption.wait(work)
    assert work.ended
    assert work.result() == "done"
    interruption.wait(work)


def test_each_time_it_is_asked_for_interrupts_one_wait() -> None:
    interruption, go = Interruption(), threading.Event()

    def fail() -> None:
        go.wait()
        raise ValueError("no")

    work = Work(fail)
    work.begin()
    for _ in range(2):
        threading.Thread(target=interruption.ask).start()
        with pytest.raises(asyncio.CancelledError):
            interruption.wait(work)
    go.set()
    interruption.wait(work)  # how the work ended is not its concern
    assert isinstance(work.error, ValueError)
    with pytest.raises(ValueError, match="no"):
        work.result()
    with pytest.raises(asyncio.CancelledError):
        interruption.check()


def test_one_that_was_asked_for_before_the_wait_is_not_lost() -> None:
    interruption, go = Interruption(), threading.Event()
    interruption.ask()
    work = Work(go.wait)
    work.begin()
    with pytest.raises(asyncio.CancelledError):
        interruption.wait(work)
    go.set()


def test_work_that_was_forestalled_never_begins() -> None:
    done: list[int] = []
    work = Work(lambda: done.append(1))
    work.forestall()
    work.begin()
    Interruption().wait(work)
    later = Work(lambda: done.append(2))
    later.begin()
    later.forestall()  # too late, or just in time
    Interruption().wait(later)
    assert 1 not in done


STORM = """
import signal, sys, threading
from pipeline.interruption import Interruption, Work

class Struck(Exception): ...

armed = False

def strike(number, frame):
    global armed
    if armed:
        armed = False
        raise Struck

signal.signal(signal.SIGUSR1, strike)
print("ready", flush=True)
struck = 0
for _ in range(300):
    work = Work(lambda: 1)
    try:
        armed = True
        work.begin()
        for _ in range(50):
            Interruption().wait(work)
        armed = False
    except Struck:
        struck += 1
    work.forestall()
    while not work.ended:
        work.wait(0.01)
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
print(struck, flush=True)
"""


def test_no_signal_however_it_comes_leaves_a_wait_locked() -> None:
    """A `concurrent.futures.Future` in its place hangs here within seconds."""
    process = subprocess.Popen(
        [sys.executable, "-c", STORM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        for _ in range(2000):
            if process.poll() is not None:
                break
            process.send_signal(signal.SIGUSR1)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    assert out.strip().isdigit()
