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
from pipeline.errors import EngineError, SettingsError
from pipeline.processes import AHEAD, MOST, as_completed, in_processes, shared_out


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
    found = in_processes(abs, iter(range(-6, 0)), 2, "A process")
    assert next(found) == 6
    assert submitted == [-6, -5], "this process worked on the next two"
    assert list(found) == [5, 4, 3, 2, 1]


KILLED = """
import time
from pipeline.processes import as_completed, in_processes
work = 'print(__import__("os").getpid(), flush=True) or bytes(1 << 20)'
for _ in {}(eval, [work] * 9, 2, "A process"):
    time.sleep(600)
"""


@pytest.mark.parametrize("how", ["in_processes", "as_completed"])
def test_no_process_outlives_the_one_that_started_it(how: str) -> None:
    """A killed run takes no result any more, so a process would wait for ever to hand it over."""
    command = [sys.executable, "-c", KILLED.format(how)]
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
    assert list(in_processes(abs, [-2, -1], 1, "A process")) == [2, 1]


@pytest.mark.parametrize(
    ("items", "cores", "jobs"),
    [(3, 8, 1), (4, 8, 2), (5, 8, 2), (6, 8, 3), (99, 1, 1), (99, 2, 2), (99, 64, MOST)],
)
def test_items_are_shared_out_to_as_many_processes_as_have_enough_to_do(
    items: int, cores: int, jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loky.cpu_count", lambda: cores)
    left = iter(range(items))
    found, shared = shared_out(left)
    assert found == jobs
    read = items - len(list(left))
    assert read <= AHEAD * MOST, "only a few are held in memory"
    assert list(shared) == list(range(read))


def test_a_process_that_may_start_no_others_does_the_work_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    daemon = SimpleNamespace(daemon=True)
    monkeypatch.setattr("multiprocessing.current_process", lambda: daemon)
    found, shared = shared_out(range(99))
    assert (found, list(shared)) == (1, list(range(99)))


def test_a_process_that_may_start_no_others_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    daemon = SimpleNamespace(daemon=True)
    monkeypatch.setattr("multiprocessing.current_process", lambda: daemon)
    for work in (in_processes, as_completed):
        with pytest.raises(SettingsError, match=r"may not start others\. Let it work alone"):
            list(work(abs, range(9), 2, "A process"))


def test_every_item_has_its_result_and_an_item_is_read_when_it_can_start() -> None:
    read = list[int]()

    def items() -> Iterator[int]:
        for number in range(-5, 0):
            read.append(number)
            yield number

    found = as_completed(abs, items(), 2, "A process")
    first = next(found)
    assert len(read) < 5
    assert sorted([first, *found]) == [1, 2, 3, 4, 5]


def test_a_process_that_dies_is_an_error() -> None:
    with pytest.raises(EngineError, match=r"^A process died") as caught:
        list(as_completed(exec, ["import os; os._exit(1)"], 1, "A process"))
    assert "--jobs 1" in caught.value.hint


def interrupted(_: int) -> bool:
    """Interrupt this process, and say whether it noticed."""
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        return True
    return False


def test_an_interrupt_is_answered_by_the_process_that_started_the_others() -> None:
    assert [*as_completed(interrupted, range(2), 2, "A process")] == [False, False]
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
