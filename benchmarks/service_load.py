"""What one process of the service carries, against its framework and its engine alone.

    python -m benchmarks.service_load [--calls 3000] [--clients 64] [--repeats 5]

Three take turns, with the same texts, new ones each turn: `tender-pipeline serve` without a limit,
with accounts on a disk and its log in a file; a server of the same framework and settings that
answers every call with one body of the usual size; and the engine alone, in batches of as many
calls as there are clients, and one by one. The servers are processes of their own, the clients
another. A client asks its next call once it has the answer to the last. In the mix every text is
asked of all four systems, as a run does. At last the service is asked by four times as many
clients, and by a single one.

What is printed are medians over the turns; p50 and p99 are milliseconds. The ratios are medians of
each turn's own. Set OPENBLAS_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import multiprocessing
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

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from benchmarks.clients import Turn, asked, payload
from benchmarks.texts import made_texts
from pipeline.answers import SYSTEMS, System
from pipeline.engine import Engine
from pipeline.service import Accounts, server

DISK = "/var/tmp"
"""/tmp is in memory on many machines, where a sync costs nothing."""

ALONE = 200
"""Calls that are enough to tell how fast they are one by one."""


@dataclass(frozen=True, slots=True)
class Work:
    """What is asked: every text of all the systems, before the next text."""

    systems: tuple[System, ...]
    texts: Sequence[str]

    @property
    def calls(self) -> Sequence[tuple[System, str]]:
        """The calls, in the order of a run."""
        return [(system, text) for text in self.texts for system in self.systems]

    def by_engine(self, at_once: int, most: int | None = None) -> float:
        """Return how many calls a second the engine answers, so many at once."""
        engine, texts = Engine(self.systems, 10), self.texts[:most]
        step = max(1, at_once // len(self.systems))
        started = time.perf_counter()
        for _ in engine.answers(texts[at : at + step] for at in range(0, len(texts), step)):
            pass
        return len(texts) * len(self.systems) / (time.perf_counter() - started)


@dataclass(frozen=True, slots=True)
class Service:
    """The service under load.

    Attributes:
        base: its address.
        key: of an account that can pay.
        process: its number.
    """

    base: str
    key: str
    process: int

    def asked(self, work: Work, clients: int) -> Turn:
        """Let it answer calls."""
        return asked(self.base, self.key, work.calls, clients)

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
def serving(folder: Path) -> Iterator[Service]:
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
            yield Service(process.stdout.readline().split()[-1], key, process.pid)
        finally:
            process.terminate()


def serve_alike(port: Connection, body: bytes) -> None:
    """Answer every call with one body, and say where."""
    app = FastAPI(openapi_url=None)

    @app.post("/api/{system}/match")
    async def match(request: Request) -> Response:
        await request.body()
        return Response(body, media_type="application/json")

    with server.listening("127.0.0.1", 0) as listener:
        port.send(server.address(listener))
        server.Server(app).run([listener])


@contextmanager
def serving_alike(body: bytes) -> Iterator[str]:
    """Run the server that always says the same in a process of its own; give its address."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=serve_alike, args=(there, body), daemon=True)
    process.start()
    there.close()
    try:
        yield here.recv()
    finally:
        process.terminate()
        process.join()


@dataclass(frozen=True, slots=True)
class Compared:
    """One turn of all of them with the same calls."""

    service: Turn
    alike: Turn
    batched: float
    alone: float


def compared(service: Service, alike: str, work: Work, clients: int) -> Compared:
    """Let each take its turn."""
    return Compared(
        service.asked(work, clients),
        asked(alike, service.key, work.calls, clients),
        work.by_engine(clients),
        work.by_engine(1, ALONE),
    )


def line(name: str, turns: Sequence[Compared]) -> str:
    """Say what became of the turns."""

    def median(figure: Callable[[Compared], float]) -> float:
        return statistics.median(map(figure, turns))

    return (
        f"{name:<8}{median(lambda one: one.service.rate):>7,.0f}"
        f"{median(lambda one: one.service.p50):>8.1f}{median(lambda one: one.service.p99):>8.1f}"
        f"{median(lambda one: one.alike.rate):>10,.0f}"
        f"{median(lambda one: one.alike.p50):>8.1f}{median(lambda one: one.alike.p99):>8.1f}"
        f"{median(lambda one: one.batched):>10,.0f}{median(lambda one: one.alone):>9,.0f}"
        f"{median(lambda one: one.alike.rate / one.service.rate):>10.2f} x"
        f"{median(lambda one: one.batched / one.service.rate):>7.2f} x"
        f"{median(lambda one: one.service.p99 / one.service.p50):>7.1f} x"
    )


HEAD = f"""
{"":<8}{"the service":^23}  {"one constant body":^24}{"the engine alone":>19}  {"ratios":^29}
{"":<8}{"calls/s":>7}{"p50":>8}{"p99":>8}{"calls/s":>10}{"p50":>8}{"p99":>8}\
{"at once":>10}{"1 by 1":>9}{"constant":>12}{"engine":>9}{"p99/p50":>9}"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
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
            print(told(others, [service.asked(fresh(calls=some), others) for _ in turns]))
        print(f"{service.peak():.0f} MiB at most")


def told(clients: int, turns: Sequence[Turn]) -> str:
    """Say how so many clients fared with the mix."""
    rate, p50, p99 = (
        statistics.median(getattr(turn, name) for turn in turns) for name in ("rate", "p50", "p99")
    )
    return f"{clients} clients, mix: {rate:,.0f} calls/s, p50 {p50:.1f} ms, p99 {p99:.1f} ms"


if __name__ == "__main__":
    main()
