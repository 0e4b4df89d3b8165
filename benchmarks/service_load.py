"""Measures the load of one service process, against its framework and its engine alone.

    python -m benchmarks.service_load [--calls 3000] [--clients 64] [--repeats 5]

Three take turns, with the same texts, new ones each turn: `tender-pipeline serve` without a limit,
with accounts on a disk and its log in a file; a server of the same framework and settings that
answers every call with one body of the usual size; and the engine alone, in batches of as many
calls as there are clients, and one by one. The servers are processes of their own, the clients
another. A client asks its next call once it has the answer to the last. In the mix every text is
asked of all four systems, as a run does. At last the service is asked by four times as many
clients, and by a single one.

What is printed are medians over the turns. p50 and p99 are milliseconds; busy is the milliseconds
of processor time that the server, or the engine, took for each call, which others on the machine
disturb less. The ratios are medians of each turn's own: calls a second of the others to those of
the service, its busy time to that of the engine at once. Set OPENBLAS_NUM_THREADS=1.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path

import aiohttp
import numpy as np
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from benchmarks.command_line import parser_for
from benchmarks.local_service import DISK
from benchmarks.texts import made_texts
from pipeline.answers import SYSTEMS, System
from pipeline.engine import Engine
from pipeline.service import server
from pipeline.service.accounts import Accounts


@dataclass(frozen=True, slots=True)
class Turn:
    """The figures of calls that were sent together.

    Attributes:
        rate: answers a second.
        p50: the median latency, milliseconds.
        p99: the 99th percentile of the latency, milliseconds.
        busy: the server's processor time for each call, milliseconds.
    """

    rate: float
    p50: float
    p99: float
    busy: float


def payload(text: str) -> bytes:
    """Return the body of a call."""
    return json.dumps({"description": text}).encode()


def asked(
    base: str, process: int, key: str, calls: Sequence[tuple[System, str]], clients: int
) -> Turn:
    """Share calls among clients; each client sends its next call when it has an answer.

    Args:
        base: the address of the server.
        process: its process id.
        key: the API key of each call.
        calls: the system and the text of each call.
        clients: how many ask.

    Raises:
        aiohttp.ClientResponseError: a call was not answered with 200.
    """
    ready = [(f"{base}/api/{system}/match", payload(text)) for system, text in calls]
    busy, started = _busy_s(process), time.perf_counter()
    times = asyncio.run(_asked(ready, key, clients))
    seconds, busy = time.perf_counter() - started, _busy_s(process) - busy
    p50, p99 = np.percentile(times, [50, 99]).tolist()
    return Turn(len(times) / seconds, 1000 * p50, 1000 * p99, 1000 * busy / len(times))


def _busy_s(process: int) -> float:
    """Return the processor time of a process so far, in seconds."""
    fields = Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _asked(calls: Sequence[tuple[str, bytes]], key: str, clients: int) -> list[float]:
    """Return the seconds that each call took."""
    headers = {"X-API-Key": key, "Content-Type": "application/json"}
    left, times = iter(calls), list[float]()
    connector = aiohttp.TCPConnector(limit=clients)
    async with (
        aiohttp.ClientSession(
            connector=connector, headers=headers, raise_for_status=True
        ) as session,
        asyncio.TaskGroup() as tasks,
    ):
        for _ in range(clients):
            tasks.create_task(_ask(session, left, times))
    return times


async def _ask(
    session: aiohttp.ClientSession, left: Iterator[tuple[str, bytes]], times: list[float]
) -> None:
    for url, body in left:
        sent = time.perf_counter()
        async with session.post(url, data=body) as answer:
            await answer.read()
        times.append(time.perf_counter() - sent)


ALONE = 200
"""The number of calls that are measured one by one."""


@dataclass(frozen=True, slots=True)
class Alone:
    """The speed of the engine without a service: calls a second, milliseconds of work a call."""

    rate: float
    busy: float


@dataclass(frozen=True, slots=True)
class Work:
    """The calls: each text for all systems, before the next text."""

    systems: tuple[System, ...]
    texts: Sequence[str]

    @property
    def calls(self) -> Sequence[tuple[System, str]]:
        """The calls, in the order of a run."""
        return [(system, text) for text in self.texts for system in self.systems]

    def by_engine(self, at_once: int, most: int | None = None) -> Alone:
        """Measure the engine with a number of calls at once."""
        engine, texts = Engine(self.systems, 10), self.texts[:most]
        step = max(1, at_once // len(self.systems))
        started, busy = time.perf_counter(), time.process_time()
        for _ in engine.answers(texts[at : at + step] for at in range(0, len(texts), step)):
            pass
        seconds, busy = time.perf_counter() - started, time.process_time() - busy
        count = len(texts) * len(self.systems)
        return Alone(count / seconds, 1000 * busy / count)


@dataclass(frozen=True, slots=True)
class Running:
    """A server under load.

    Attributes:
        base: its address.
        process: its number.
        key: of an account that can pay.
    """

    base: str
    process: int
    key: str

    def asked(self, work: Work, clients: int) -> Turn:
        """Measure some calls."""
        return asked(self.base, self.process, self.key, work.calls, clients)

    def peak(self) -> float:
        """Return the largest resident set so far, MiB."""
        status = Path(f"/proc/{self.process}/status").read_text("ascii")
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        assert found is not None
        return int(found[1]) / 1024

    def usual_body(self, texts: Sequence[str]) -> bytes:
        """Return the body of median length among the answers to some texts."""
        bodies = [self._body(system, text) for system in SYSTEMS for text in texts]
        return sorted(bodies, key=len)[len(bodies) // 2]

    def _body(self, system: System, text: str) -> bytes:
        headers = {"X-API-Key": self.key, "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.base}/api/{system}/match", payload(text), headers)
        with urllib.request.urlopen(request) as answer:
            body: bytes = answer.read()
        return body


@contextmanager
def serving(folder: Path) -> Iterator[Running]:
    """Run the service as a user does, on a free port."""
    with closing(Accounts(folder)) as accounts:
        key = accounts.open(Decimal(10_000)).key
    command = [sys.executable, "-m", "pipeline", "serve", "--port", "0", "--rate", "none"]
    with (
        (folder / "log.txt").open("wb") as log,
        subprocess.Popen(
            [*command, "--data", str(folder)], stdout=subprocess.PIPE, stderr=log, text=True
        ) as process,
    ):
        assert process.stdout is not None
        try:
            yield Running(process.stdout.readline().split()[-1], process.pid, key)
        finally:
            process.terminate()


def serve_alike(port: Connection, body: bytes) -> None:
    """Answer every call with one body, and send the port."""

    async def match(request: Request) -> Response:
        await request.body()
        return Response(body, media_type="application/json")

    app = Starlette(routes=[Route("/api/{system}/match", match, methods=["POST"])])
    with server.listening("127.0.0.1", 0) as listener:
        port.send(server.address(listener))
        server.Server(app).run([listener])


@contextmanager
def serving_alike(body: bytes) -> Iterator[Running]:
    """Run the server that always gives the same answer in a separate process."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=serve_alike, args=(there, body), daemon=True)
    process.start()
    there.close()
    try:
        yield Running(here.recv(), process.pid or 0, "")
    finally:
        process.terminate()
        process.join()


@dataclass(frozen=True, slots=True)
class Compared:
    """One turn of all servers with the same calls."""

    service: Turn
    alike: Turn
    batched: Alone
    single: Alone


def compared(service: Running, alike: Running, work: Work, clients: int) -> Compared:
    """Measure each in turn."""
    return Compared(
        service.asked(work, clients),
        alike.asked(work, clients),
        work.by_engine(clients),
        work.by_engine(1, ALONE // len(work.systems)),
    )


COLUMNS: Sequence[tuple[str, int, str, Callable[[Compared], float]]] = (
    ("calls/s", 9, ",.0f", lambda turn: turn.service.rate),
    ("p50", 8, ".1f", lambda turn: turn.service.p50),
    ("p99", 8, ".1f", lambda turn: turn.service.p99),
    ("busy", 7, ".2f", lambda turn: turn.service.busy),
    ("calls/s", 10, ",.0f", lambda turn: turn.alike.rate),
    ("p50", 8, ".1f", lambda turn: turn.alike.p50),
    ("p99", 8, ".1f", lambda turn: turn.alike.p99),
    ("busy", 7, ".2f", lambda turn: turn.alike.busy),
    ("at once", 10, ",.0f", lambda turn: turn.batched.rate),
    ("busy", 7, ".2f", lambda turn: turn.batched.busy),
    ("1 by 1", 8, ",.0f", lambda turn: turn.single.rate),
    ("constant", 11, ".2f", lambda turn: turn.alike.rate / turn.service.rate),
    ("engine", 8, ".2f", lambda turn: turn.batched.rate / turn.service.rate),
    ("by busy", 8, ".2f", lambda turn: turn.service.busy / turn.batched.busy),
    ("p99/p50", 8, ".1f", lambda turn: turn.service.p99 / turn.service.p50),
)
"""The columns that are printed: heading, width, format, and the figure of a turn."""

HEAD = (
    f"{'':<8}{'the service':^32}{'one constant body':^33}{'the engine':^25}{'ratios':^35}\n"
    f"{'':<8}{''.join(f'{name:>{width}}' for name, width, _, _ in COLUMNS)}"
)


def line(name: str, turns: Sequence[Compared]) -> str:
    """Return the figures of the turns as a line."""
    cells = (
        f"{format(statistics.median(map(figure, turns)), form):>{width}}"
        for _, width, form, figure in COLUMNS
    )
    return f"{name:<8}{''.join(cells)}"


def main() -> None:
    """Measure and print."""
    parser = parser_for(__file__, __doc__)
    parser.add_argument("--calls", type=int, default=3000)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    calls, clients, turns = arguments.calls, arguments.clients, range(arguments.repeats)
    seeds = count(2)

    def fresh(systems: tuple[System, ...] = SYSTEMS, calls: int = calls) -> Work:
        return Work(systems, made_texts(calls // len(systems), next(seeds)))

    with (
        tempfile.TemporaryDirectory(dir=DISK) as folder,
        serving(Path(folder)) as service,
        serving_alike(body := service.usual_body(made_texts(50))) as alike,
    ):
        print(f"{clients} clients, {calls:,} calls a turn, {len(turns)} turns; ", end="")
        print(f"the constant body has {len(body):,} bytes; {service.peak():.0f} MiB at the start")
        print(HEAD, flush=True)
        measure = partial(compared, service, alike, clients=clients)
        measure(fresh())  # nothing is warm before
        for systems in (*((system,) for system in SYSTEMS), SYSTEMS):
            results = [measure(fresh(systems)) for _ in turns]
            print(line(systems[0] if len(systems) == 1 else "mix", results), flush=True)
        print(f"{service.peak():.0f} MiB at most")
        for others, some in ((4 * clients, calls), (1, calls // 10)):
            print(load_line(others, [service.asked(fresh(calls=some), others) for _ in turns]))
        print(f"{service.peak():.0f} MiB at most")


def load_line(clients: int, turns: Sequence[Turn]) -> str:
    """Return the figures for a number of clients with the mix, as a line."""
    rate, p50, p99, busy = (
        statistics.median(getattr(turn, name) for turn in turns)
        for name in ("rate", "p50", "p99", "busy")
    )
    return (
        f"{clients} clients, mix: {rate:,.0f} calls/s, p50 {p50:.1f} ms, p99 {p99:.1f} ms, "
        f"busy {busy:.2f} ms"
    )


if __name__ == "__main__":
    main()
