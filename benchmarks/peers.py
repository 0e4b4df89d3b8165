"""Scripts that a good engineer writes to buy codes for a table, without any protection.

    python -m benchmarks.peers NAME URL SOURCE OUTPUT

Each reads a CSV file, asks for the text of each row, and writes the rows with a code and a price.
"""

from __future__ import annotations

import asyncio
import csv
import importlib
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

KEY = "a-key-of-twenty-four-chars"
HEADERS = {"X-API-Key": KEY}

Found: TypeAlias = tuple[str, float]
Ask: TypeAlias = Callable[[str, Sequence[str]], Sequence[Found]]


def kept(content: Any) -> Found:
    """Return what a script keeps of a response: the best code and the price."""
    return content["data"][0]["code"], content["metadata"]["costBreakdown"]["finalCost"]


def with_httpx(url: str, texts: Sequence[str], at_once: int) -> Sequence[Found]:
    """Ask with one task a row."""
    httpx = importlib.import_module("httpx")

    async def ask(client: Any, gate: asyncio.Semaphore, text: str) -> Found:
        async with gate:
            return kept((await client.post(url, json={"description": text})).json())

    async def run() -> list[Found]:
        gate = asyncio.Semaphore(at_once)
        async with httpx.AsyncClient(headers=HEADERS) as client:
            return await asyncio.gather(*(ask(client, gate, text) for text in texts))

    return asyncio.run(run())


def with_aiohttp(
    url: str, texts: Sequence[str], at_once: int, reuse: bool = True
) -> Sequence[Found]:
    """Ask with one task a row, over a new connection each unless they are used again."""
    aiohttp = importlib.import_module("aiohttp")

    async def ask(session: Any, gate: asyncio.Semaphore, text: str) -> Found:
        async with gate, session.post(url, json={"description": text}) as answer:
            return kept(await answer.json())

    async def run() -> list[Found]:
        gate = asyncio.Semaphore(at_once)
        connector = aiohttp.TCPConnector(force_close=not reuse)
        async with aiohttp.ClientSession(connector=connector, headers=HEADERS) as session:
            return await asyncio.gather(*(ask(session, gate, text) for text in texts))

    return asyncio.run(run())


def with_requests(url: str, texts: Sequence[str], at_once: int) -> Sequence[Found]:
    """Ask with threads, each with its own session."""
    requests = importlib.import_module("requests")
    own = threading.local()

    def start() -> None:
        own.session = requests.Session()
        own.session.headers.update(HEADERS)

    def ask(text: str) -> Found:
        return kept(own.session.post(url, json={"description": text}).json())

    with ThreadPoolExecutor(at_once, initializer=start) as pool:
        return list(pool.map(ask, texts))


def with_pandas(url: str, texts: Sequence[str]) -> Sequence[Found]:
    """Ask row by row with ``Series.apply``, and one client."""
    pandas, httpx = importlib.import_module("pandas"), importlib.import_module("httpx")
    with httpx.Client(headers=HEADERS) as client:

        def ask(text: str) -> Found:
            return kept(client.post(url, json={"description": text}).json())

        return list(pandas.Series(texts).apply(ask))


class Peer(NamedTuple):
    """A script: the library that it needs, and how it asks."""

    library: str
    ask: Ask


PEERS: Mapping[str, Peer] = {
    "httpx, 16 tasks": Peer("httpx", partial(with_httpx, at_once=16)),
    "httpx, 50 tasks": Peer("httpx", partial(with_httpx, at_once=50)),
    "requests, 16 threads": Peer("requests", partial(with_requests, at_once=16)),
    "aiohttp, 50 tasks": Peer("aiohttp", partial(with_aiohttp, at_once=50)),
    "aiohttp, new connections": Peer("aiohttp", partial(with_aiohttp, at_once=50, reuse=False)),
    "pandas.apply": Peer("pandas", with_pandas),
}


def main(name: str, url: str, source: Path, output: Path) -> None:
    """Run one peer."""
    with source.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = PEERS[name].ask(url, [row["description"] for row in rows])
    with output.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*rows[0], "code", "cost_usd"])
        writer.writerows([*row.values(), *each] for row, each in zip(rows, found, strict=True))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]))
