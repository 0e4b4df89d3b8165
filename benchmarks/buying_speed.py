"""Measures calls a second to an unlimited local server: a whole job, and other clients.

    python -m benchmarks.buying_speed [--calls 4000] [--workers 64] [--repeats 3]

"Ours" is a whole job: a CSV file with distinct texts is read, planned, bought and written, with
every attempt and answer in a new ledger. The others only send requests, and keep code and price.
They take turns against one server in a separate process. The figures printed are medians of the
turns, the processor time that client and server took, and how many times as fast ours is.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import http.client
import importlib
import importlib.util
import json
import multiprocessing
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path
from sqlite3 import Connection as Sqlite
from unittest.mock import patch

import aiohttp
import httpx

from benchmarks.texts import made_texts
from pipeline.classification import job
from pipeline.classification.sink import FileSink
from pipeline.classification.source import Source
from pipeline.paid.client.urls import canonical, match_url
from pipeline.paid.ledger import database
from pipeline.paid.purchase import Purchase
from pipeline.paid.service import PaidService
from pipeline.settings import Settings
from pipeline.tables import open_reader

TASKS, THREADS = 50, 16
KEY = "a-key-of-twenty-four-chars"
DISK = "/var/tmp"
"""A folder on a disk: /tmp is in memory on many machines, where a sync costs nothing."""

BODY = json.dumps(
    {
        "success": True,
        "message": "API call successful",
        "data": [
            {
                "code": f"4521{place}000",
                "title": f"Construction work for buildings of kind {place}",
                "confidence": round(0.95 - place / 10, 2),
                "codeType": "cpv",
            }
            for place in range(5)
        ],
        "metadata": {
            "costBreakdown": {
                "apiCost": 0.0001,
                "markupPercentage": 10,
                "markupAmount": 0.00001,
                "finalCost": 0.00011,
                "currency": "USD",
            }
        },
    }
).encode()


def response(body: bytes) -> bytes:
    """Return a complete response with a body."""
    head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
    return f"{head}{len(body)}\r\n\r\n".encode() + body


RESPONSE = response(BODY)


class Answering(asyncio.Protocol):
    """Gives every POST the same answer; a GET returns the processor time of the server."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take a connection."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._got = b""

    def data_received(self, data: bytes) -> None:
        """Answer each complete request."""
        self._got += data
        while (end := self._got.find(b"\r\n\r\n") + 4) > 3:
            _, _, length = self._got[:end].lower().partition(b"content-length:")
            whole = end + int(length.split(b"\r\n", 1)[0] or 0)
            if len(self._got) < whole:
                return
            asked_time = self._got.startswith(b"GET")
            self._got = self._got[whole:]
            self._transport.write(
                response(str(time.process_time()).encode()) if asked_time else RESPONSE
            )


def serve(port: Connection) -> None:
    """Serve on a free port, and send its number."""

    async def forever() -> None:
        server = await asyncio.get_running_loop().create_server(Answering, "127.0.0.1", 0)
        port.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(forever())


@contextmanager
def server() -> Iterator[str]:
    """Run the server in a separate process, and yield its address."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=serve, args=(there,), daemon=True)
    process.start()
    there.close()
    try:
        yield f"http://127.0.0.1:{here.recv()}"
    finally:
        process.terminate()
        process.join()


def server_seconds(base: str) -> float:
    """Return the processor time of the server so far."""
    connection = http.client.HTTPConnection(base.removeprefix("http://"))
    connection.request("GET", "/")
    seconds = float(connection.getresponse().read())
    connection.close()
    return seconds


def ours(base: str, source: Path, workers: int, number: Iterator[int]) -> None:
    """Run a whole job with a new ledger."""
    run = source.parent / f"run{next(number)}"
    settings = Settings(systems=("cpv",))
    service = PaidService(base, KEY, run / "ledger.db", rate="none", workers=workers)
    reader, output = open_reader(source, settings.text_columns), run / "out.csv"
    with Purchase(service, settings, str(output)) as purchase:
        sink = FileSink(output, "csv", source=source)
        summary = job.run(Source(reader, source), sink, settings, purchase)
    assert summary.parked is None
    assert summary.systems["cpv"].statuses == {"ok": summary.rows}


def ours_unsynced(base: str, source: Path, workers: int, number: Iterator[int]) -> None:
    """Run a whole job with a ledger that does not sync, to measure the cost of durability."""
    connect = database._connect

    def careless(path: Path) -> Sqlite:
        connection = connect(path)
        connection.execute("PRAGMA synchronous = OFF")
        return connection

    with patch.object(database, "_connect", careless):
        ours(base, source, workers, number)


def kept(content: dict[str, object]) -> tuple[str, float]:
    """Return what a script keeps of a response: the best code and the price."""
    match content:
        case {
            "data": [{"code": str(code)}, *_],
            "metadata": {"costBreakdown": {"finalCost": float(cost)}},
        }:
            return code, cost
    raise ValueError("not what the server sends")


def with_httpx(url: str, texts: Sequence[str]) -> None:
    """Ask with one task a row and httpx's own transport."""

    async def ask(client: httpx.AsyncClient, gate: asyncio.Semaphore, text: str) -> object:
        async with gate:
            answer = await client.post(url, json={"description": text})
            return kept(answer.json())

    async def run() -> None:
        gate = asyncio.Semaphore(TASKS)
        async with httpx.AsyncClient(headers={"X-API-Key": KEY}) as client:
            await asyncio.gather(*(ask(client, gate, text) for text in texts))

    asyncio.run(run())


def with_aiohttp(url: str, texts: Sequence[str]) -> None:
    """Ask with one task a row and aiohttp."""

    async def ask(session: aiohttp.ClientSession, gate: asyncio.Semaphore, text: str) -> object:
        async with gate, session.post(url, json={"description": text}) as answer:
            return kept(await answer.json())

    async def run() -> None:
        gate = asyncio.Semaphore(TASKS)
        async with aiohttp.ClientSession(headers={"X-API-Key": KEY}) as session:
            await asyncio.gather(*(ask(session, gate, text) for text in texts))

    asyncio.run(run())


def with_requests(url: str, texts: Sequence[str]) -> None:
    """Ask with threads, each with its own session."""
    requests = importlib.import_module("requests")  # no dependency of ours
    own = threading.local()

    def start() -> None:
        own.session = requests.Session()
        own.session.headers["X-API-Key"] = KEY

    def ask(text: str) -> object:
        return kept(own.session.post(url, json={"description": text}).json())

    with ThreadPoolExecutor(THREADS, initializer=start) as pool:
        list(pool.map(ask, texts))


class Asking(asyncio.Protocol):
    """Sends prepared requests, and reads only the length of the responses."""

    def __init__(self, requests: Iterator[bytes], done: asyncio.Future[None]) -> None:
        self._requests = requests
        self._done = done
        self._missing = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the first request."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._ask()

    def data_received(self, data: bytes) -> None:
        """Send the next request when the response is complete."""
        self._missing -= len(data)
        if not self._missing:
            self._ask()

    def _ask(self) -> None:
        request = next(self._requests, None)
        if request is None:
            self._transport.close()
            self._done.set_result(None)
        else:
            self._missing = len(RESPONSE)
            self._transport.write(request)


def bare(url: str, texts: Sequence[str]) -> None:
    """Ask without an HTTP library: a lower bound of what the server can do."""
    address = httpx.URL(url)
    host, port = address.host, address.port or 80
    head = f"POST {address.path} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: "
    bodies = [json.dumps({"description": text}).encode() for text in texts]
    requests = [f"{head}{len(body)}\r\n\r\n".encode() + body for body in bodies]

    async def run() -> None:
        loop, left = asyncio.get_running_loop(), iter(requests)
        over = [loop.create_future() for _ in range(TASKS)]
        for done in over:
            await loop.create_connection(partial(Asking, left, done), host, port)
        await asyncio.gather(*over)

    asyncio.run(run())


def measure(base: str, ask: Callable[[], None]) -> tuple[float, float, float]:
    """Return the duration of one turn and the processor times of client and server, in seconds."""
    served, busy, started = server_seconds(base), time.process_time(), time.perf_counter()
    ask()
    seconds, used = time.perf_counter() - started, time.process_time() - busy
    return seconds, used, server_seconds(base) - served


def ways(base: str, source: Path, workers: int) -> dict[str, Callable[[], None]]:
    """Return everything that is compared, ours first."""
    url = match_url(canonical(base), "cpv")
    with source.open(encoding="utf-8", newline="") as file:
        texts = [row["description"] for row in csv.DictReader(file)]
    number = count()
    found: dict[str, Callable[[], None]] = {
        f"ours, {workers} workers": partial(ours, base, source, workers, number),
        "ours, ledger not synced": partial(ours_unsynced, base, source, workers, number),
        f"httpx, {TASKS} at once": partial(with_httpx, url, texts),
        f"requests, {THREADS} threads": partial(with_requests, url, texts),
        f"aiohttp, {TASKS} at once": partial(with_aiohttp, url, texts),
        "bare sockets": partial(bare, url, texts),
    }
    if importlib.util.find_spec("requests") is None:
        print("requests is not installed, so it is not measured: pip install requests")
        del found[f"requests, {THREADS} threads"]
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=4000)
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=DISK) as folder, server() as base:
        os.environ["HOME"] = folder  # for the lock of the account
        source = Path(folder) / "in.csv"
        with source.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "description"])
            writer.writerows(enumerate(made_texts(arguments.calls)))
        compared = ways(base, source, arguments.workers)
        turns = [
            {name: measure(base, ask) for name, ask in compared.items()}
            for _ in range(arguments.repeats)
        ]
    print(f"{arguments.calls:,} calls, the median of {arguments.repeats} turns:")
    print(f"{'':<24}{'calls/s':>9}{'client CPU':>13}{'server CPU':>13}{'ours is':>10}")
    ours_name = next(iter(compared))
    for name in compared:
        seconds, used, served = map(
            statistics.median, zip(*(turn[name] for turn in turns), strict=True)
        )
        ratio = statistics.median(turn[name][0] / turn[ours_name][0] for turn in turns)
        print(
            f"{name:<24}{arguments.calls / seconds:>9,.0f}{used / seconds:>12.0%} "
            f"{served / seconds:>12.0%} {ratio:>8.2f} x"
        )


if __name__ == "__main__":
    main()
