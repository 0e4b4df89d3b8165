"""Clients that ask a service one call after the other, and how long each answer took."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import aiohttp
import numpy as np

from pipeline.answers import System

__all__ = ["Turn", "asked", "payload"]


@dataclass(frozen=True, slots=True)
class Turn:
    """How calls that were asked together were answered.

    Attributes:
        rate: answers a second.
        p50: the median of the times that calls took, milliseconds.
        p99: of 100 calls one took longer, milliseconds.
    """

    rate: float
    p50: float
    p99: float


def payload(text: str) -> bytes:
    """Return the body of a call."""
    return json.dumps({"description": text}).encode()


def asked(base: str, key: str, calls: Sequence[tuple[System, str]], clients: int) -> Turn:
    """Let clients ask all the calls between them; each asks its next when it has its answer.

    Raises:
        aiohttp.ClientResponseError: a call was not answered with 200.
    """
    ready = [(f"{base}/api/{system}/match", payload(text)) for system, text in calls]
    return asyncio.run(_asked(ready, key, clients))


async def _asked(calls: Sequence[tuple[str, bytes]], key: str, clients: int) -> Turn:
    headers = {"X-API-Key": key, "Content-Type": "application/json"}
    left, times = iter(calls), list[float]()
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=clients), headers=headers, raise_for_status=True
    ) as session:
        started = time.perf_counter()
        async with asyncio.TaskGroup() as tasks:
            for _ in range(clients):
                tasks.create_task(_ask(session, left, times))
        seconds = time.perf_counter() - started
    p50, p99 = np.percentile(times, [50, 99]).tolist()
    return Turn(len(times) / seconds, 1000 * p50, 1000 * p99)


async def _ask(
    session: aiohttp.ClientSession, left: Iterator[tuple[str, bytes]], times: list[float]
) -> None:
    for url, body in left:
        sent = time.perf_counter()
        async with session.post(url, data=body) as answer:
            await answer.read()
        times.append(time.perf_counter() - sent)
