"""The service as a user or a supervisor meets it: a real process on a real socket."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import httpx

from tests import forking

COMMAND = [sys.executable, "-m", "pipeline"]


def ran(*arguments: object, patience_s: float = 60) -> subprocess.CompletedProcess[str]:
    """Run a command that is to end by itself."""
    return forking.ran(arguments, timeout=patience_s)


def key_in(folder: Path) -> str:
    """Open an account as a user does; return its key."""
    opened = ran("accounts", "open", "--data", folder)
    assert opened.returncode == 0, opened.stderr
    return opened.stdout.split()[-1]


@dataclass
class Serving:
    """A service that runs.

    Attributes:
        folder: where its accounts are.
        process: it.
        address: where it is reached.
        log: the file that it logs to: a pipe would have to be read all the time.
    """

    folder: Path
    process: forking.Process | subprocess.Popen[bytes]
    address: str
    log: Path

    @property
    def place(self) -> tuple[str, int]:
        """Where it listens."""
        host = self.address.removeprefix("http://").rpartition(":")[0]
        return host, self.port

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self.address.rpartition(":")[2])

    def client(self, key: str | None = None) -> httpx.Client:
        """Return a client that calls with a key, or with none."""
        headers = {"X-API-Key": key} if key else {}
        return httpx.Client(base_url=self.address, headers=headers, trust_env=False, timeout=None)

    def lines(self) -> list[dict[str, Any]]:
        """Return the lines of its log, each of which is JSON."""
        return [json.loads(line) for line in self.log.read_text("utf-8").splitlines()]

    def ended(self, end: int | None = None) -> str:
        """Send it a signal and wait until it has ended; return what else it printed."""
        if end is not None:
            self.process.send_signal(end)
        printed, _ = self.process.communicate(timeout=60)
        return str(printed, "utf-8")


@contextmanager
def serving(
    folder: Path, *arguments: object, port: int = 0, forked: bool = True
) -> Iterator[Serving]:
    """Run the service with the accounts in a folder, on a free port unless one is named.

    Start it without forking to test what happens when its standard streams fail: the streams of a
    fork are not the ones that an interpreter opens.
    """
    folder.mkdir(exist_ok=True)
    log = folder.with_name(f"{folder.name}.log")
    command = ["serve", "--port", str(port), "--data", str(folder), *map(str, arguments)]
    with log.open("ab") as stream, _started(command, stream, forked) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline().decode()
            assert line.startswith("Serving on http://127.0.0.1:"), log.read_text("utf-8")
            yield Serving(folder, process, line.split()[-1], log)
        finally:
            process.kill()


def _started(
    command: Sequence[str], log: IO[bytes], forked: bool
) -> forking.Process | subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    if forked:
        return forking.Process(command, stdout=pipe, stderr=log)
    # Without a buffer the first line can be read, and no more.
    return subprocess.Popen([*COMMAND, *command], stdout=pipe, stderr=log, bufsize=0)
