"""Clients that send one call after the other, measured on both sides."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import numpy as np

from pipeline.answers import System


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
