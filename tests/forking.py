"""Commands as real processes, without the imports of each.

A process that has imported the package and loaded its models forks a child for each request. The
child gets its own arguments, folder, environment and standard streams. It is a process like any
other: it takes signals, can be killed, and has an exit code. Only imports and models are there
already, which are most of what a short run takes.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import marshal
import multiprocessing
import os
import pty
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from pipeline.answers import SYSTEMS
from pipeline.engine import Engine
from tests.fakes import read_terminal

__all__ = ["Process", "ran", "ran_on_terminal", "script", "shell", "until"]

ROOT = Path(__file__).parents[1]

LARGEST_REQUEST = 1 << 20

FORK = multiprocessing.get_context("fork")

COMMAND_LINE = "pipeline.cli:main"

MODULES = (
    "httpx",
    "pipeline.classification.classifier",
    "pipeline.cli.commands.accounts",
    "pipeline.cli.commands.run",
    "pipeline.cli.commands.serve",
    "pipeline.cli.many",
    "pipeline.service.server",
    "pyarrow.parquet",
    "tests.paid.serving",
)
"""Imported once, before the first request."""


class Process:
    """A command that was started, to be used as a `subprocess.Popen` is.

    Args:
        arguments: of the command line.
        call: the function that the process runs, as ``module:name``.
        cwd: its folder.
        env: its environment.
        stdin: a stream to read from; None is the null device.
        stdout: a stream to write to, or `subprocess.PIPE`; None is that of this process.
        stderr: the same.
        text: whether pipes are read as text.
    """

    def __init__(
        self,
        arguments: Sequence[object],
        *,
        call: str = COMMAND_LINE,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        stdin: int | IO[Any] | None = None,
        stdout: int | IO[Any] | None = None,
        stderr: int | IO[Any] | None = None,
        text: bool = False,
    ) -> None:
        self.args = [str(argument) for argument in arguments]
        self.returncode: int | Any = None
        request = {
            "arguments": self.args,
            "call": call,
            "cwd": str(cwd or Path.cwd()),
            "env": dict(os.environ if env is None else env),
        }
        self._pipes: dict[int, IO[Any]] = {}
        with contextlib.ExitStack() as theirs:
            nothing = theirs.enter_context(Path(os.devnull).open("rb"))
            streams = [_number(nothing if stdin is None else stdin)]
            for number, stream in ((1, stdout), (2, stderr)):
                if stream == subprocess.PIPE:
                    ours, given = os.pipe()
                    theirs.callback(os.close, given)
                    # Bytes unbuffered, so that one line can be read, and no more.
                    self._pipes[number] = os.fdopen(ours) if text else os.fdopen(ours, "rb", 0)
                    streams.append(given)
                else:
                    streams.append(number if stream is None else _number(stream))
            status, given = os.pipe()
            theirs.callback(os.close, given)
            self._status = os.fdopen(status, "rb", 0)
            socket.send_fds(_forking(), [marshal.dumps(request)], [*streams, given])
        self.pid = int(self._status.readline())

    @property
    def stdout(self) -> IO[Any] | None:
        return self._pipes.get(1)

    @property
    def stderr(self) -> IO[Any] | None:
        return self._pipes.get(2)

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code, once the process has ended."""
        if self.returncode is None:
            if not select.select([self._status], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            self.returncode = int(self._status.readline())
            self._status.close()
        return self.returncode

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[Any, Any]:
        """Read the pipes to their ends and return what came, once the process has ended."""
        read: dict[int, Any] = {}

        def reading(number: int, pipe: IO[Any]) -> None:
            read[number] = pipe.read()

        threads = [threading.Thread(target=reading, args=one) for one in self._pipes.items()]
        for thread in threads:
            thread.start()
        self.wait(timeout)
        for thread in threads:
            thread.join()
        self._close()
        return read.get(1), read.get(2)

    def send_signal(self, number: int) -> None:
        # It may have ended just now, before its status could be read.
        with contextlib.suppress(ProcessLookupError):
            if self.poll() is None:
                os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def __enter__(self) -> Process:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close()
        self.wait()

    def _close(self) -> None:
        for pipe in self._pipes.values():
            pipe.close()


def ran(
    arguments: Sequence[object], *, timeout: float = 60, text: bool = True, **options: Any
) -> subprocess.CompletedProcess[Any]:
    """Run a command to its end; return its exit code and what it printed."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with Process(arguments, text=text, **pipes | options) as process:
        try:
            out, err = process.communicate(timeout)
        finally:
            process.kill()
        return subprocess.CompletedProcess(process.args, process.wait(), out, err)


def ran_on_terminal(
    arguments: Sequence[object], typed: str, **options: Any
) -> tuple[subprocess.CompletedProcess[str], str]:
    """Run a command that reads from a terminal; return its end, and what the terminal showed."""
    ours, theirs = pty.openpty()
    os.write(ours, typed.encode())
    done = ran(arguments, stdin=theirs, stderr=theirs, **options)
    os.close(theirs)
    return done, read_terminal(ours)


def shell(line: str, folder: Path) -> tuple[int, str, str]:
    """Run a line of bash in a folder; ``tender-pipeline`` in it is this package's, not a fork.

    Return the exit code of the first command of its last pipe, and what was printed.
    """
    command = f'tender-pipeline() {{ {sys.executable} -m pipeline "$@"; }}'
    done = subprocess.run(
        ["bash", "-c", f"{command}\n{line}; exit ${{PIPESTATUS[0]}}"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def script() -> None:
    """Execute the first argument, as ``python -c`` does: a ``call`` of `Process`."""
    exec(sys.argv.pop(1), {"__name__": "__main__"})


def _number(stream: int | IO[Any]) -> int:
    return stream if isinstance(stream, int) else stream.fileno()


@functools.cache
def _forking() -> socket.socket:
    """Start the process that forks; it ends when this one does."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.forking", str(theirs.fileno())],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
        )
    atexit.register(process.wait)
    atexit.register(ours.close)
    return ours


def _serve(requests: socket.socket) -> None:
    """Fork a child for each request, until nobody can send one."""
    while True:
        request, streams, *_ = socket.recv_fds(requests, LARGEST_REQUEST, 4)
        multiprocessing.active_children()  # joins those that ended
        if not request:
            return
        FORK.Process(target=_run, args=(marshal.loads(request), *streams)).start()
        for stream in streams:
            os.close(stream)


def _run(request: Mapping[str, Any], *streams: int) -> None:
    """Report how the command starts and ends, which another child runs."""
    *standard, status = streams
    child = FORK.Process(target=_call, args=(request, standard, status))
    child.start()
    for stream in (0, 1, 2, *standard):  # else a reader of a pipe would not see its end
        os.close(stream)
    os.write(status, b"%d\n" % (child.pid or 0))
    child.join()
    os.write(status, b"%d\n" % (child.exitcode or 0))


def _call(request: Mapping[str, Any], standard: Sequence[int], status: int) -> None:
    os.close(status)
    for number, stream in enumerate(standard):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv = ["tender-pipeline", *request["arguments"]]
    sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w", 1)
    module, _, function = request["call"].partition(":")
    atexit._clear()
    try:
        getattr(importlib.import_module(module), function)()
    finally:
        atexit._run_exitfuncs()


if __name__ == "__main__":
    for name in MODULES:
        importlib.import_module(name)
    # Each fork has the models, too, and what answering a text loads.
    list(Engine(SYSTEMS).answers([["warm"]]))
    gc.freeze()
    with (
        contextlib.suppress(KeyboardInterrupt),
        socket.socket(fileno=int(sys.argv[1])) as listening,
    ):
        _serve(listening)


def until(happened: Callable[[], bool], patience_s: float = 60.0) -> None:
    """Wait until something is so.

    Raises:
        TimeoutError: it takes too long.
    """
    last = time.monotonic() + patience_s
    while not happened():
        if time.monotonic() > last:
            raise TimeoutError
        time.sleep(0.01)
