"""Work in several processes."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from pipeline import processes
from pipeline.processes import AHEAD, MOST, Jobs, in_processes, shared_out


class Lazy(Future[int]):
    """The result of another process, which is done only when somebody waits for it."""

    def __init__(self, work: Callable[[int], int], item: int) -> None:
        super().__init__()
        self._work = work
        self._item = item

    def result(self, timeout: float | None = None) -> int:
        return self._work(self._item)


def test_a_process_works_itself_while_the_others_have_enough_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    submitted = list[int]()

    def submit(work: Callable[[int], int], item: int) -> Future[int]:
        submitted.append(item)
        return Lazy(work, item)

    @contextmanager
    def executor(jobs: int, *_: object) -> Iterator[SimpleNamespace]:
        assert jobs == 1, "the second process is this one"
        yield SimpleNamespace(submit=submit)

    monkeypatch.setattr(processes, "_executor", executor)
    found = in_processes(abs, iter(range(-6, 0)), 2)
    assert next(found) == 6
    assert submitted == [-6, -5], "this process worked on the next two"
    assert list(found) == [5, 4, 3, 2, 1]


KILLED = """
import time
from pipeline.processes import in_processes
work = 'print(__import__("os").getpid(), flush=True) or bytes(1 << 20)'
for _ in in_processes(eval, [work] * 9, 2):
    time.sleep(600)
"""


def test_no_process_outlives_the_one_that_started_it() -> None:
    """A killed run takes no result any more, so a process would wait for ever to hand it over."""
    command = [sys.executable, "-c", KILLED]
    with subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=0) as process:
        assert process.stdout
        other = next(pid for line in process.stdout if (pid := int(line)) != process.pid)
        process.kill()
        while ready := select.select([process.stdout], [], [], 30)[0]:
            if not process.stdout.read(4096):  # nobody can write to it any more
                break
    if not ready:
        os.kill(other, signal.SIGKILL)
    assert ready, "the process is still there"


def test_one_process_starts_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_executor", None)
    assert list(in_processes(abs, [-2, -1], 1)) == [2, 1]


@pytest.mark.parametrize(
    ("items", "cores", "most", "jobs"),
    [
        *((3, 8, "auto", 1), (4, 8, "auto", 2), (5, 8, "auto", 2), (6, 8, "auto", 3)),
        *((99, 1, "auto", 1), (99, 2, "auto", 2), (99, 64, "auto", MOST)),
        *((99, 8, 1, 1), (99, 1, 2, 2), (3, 8, 2, 1), (6, 8, 9, 3), (99, 8, 9, 9)),
    ],
)
def test_items_are_shared_out_to_as_many_processes_as_have_enough_to_do(
    items: int, cores: int, most: Jobs, jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loky.cpu_count", lambda: cores)
    left = iter(range(items))
    found, shared = shared_out(left, most)
    assert found == jobs
    read = items - len(list(left))
    assert read <= AHEAD * max(jobs, MOST), "only a few are held in memory"
    assert list(shared) == list(range(read))


def test_a_process_that_may_start_no_others_does_the_work_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    daemon = SimpleNamespace(daemon=True)
    monkeypatch.setattr("multiprocessing.current_process", lambda: daemon)
    found, shared = shared_out(range(99), "auto")
    assert (found, list(shared)) == (1, list(range(99)))


def interrupted(_: int) -> bool:
    """Interrupt this process, and say whether it noticed."""
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        return True
    return False


def test_an_interrupt_is_answered_by_the_process_that_started_the_others() -> None:
    assert [*in_processes(interrupted, range(2), 2)] == [False, False]
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
