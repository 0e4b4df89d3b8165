"""How the service begins and ends: one a folder, stopped, killed, out of space, unheard."""

from __future__ import annotations

import asyncio
import json
import resource
import signal
import socket
import sqlite3
import subprocess
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

import aiohttp
import httpx
import pytest

from pipeline.money import total
from pipeline.service.accounts import Accounts
from tests.forking import until
from tests.service.processes import COMMAND, Serving, key_in, ran, serving

REQUEST = {"description": "Resurfacing of a rural road"}


@dataclass
class Crowd:
    """Many who call without a pause until the service is no more.

    Attributes:
        prices: what the answers stated that came.
        enough: set once so many have come.
    """

    address: str
    key: str
    many: int = 40
    prices: list[Decimal] = field(default_factory=list)
    enough: asyncio.Event = field(default_factory=asyncio.Event)

    async def call(self) -> None:
        headers = {"X-API-Key": self.key}
        async with aiohttp.ClientSession(headers=headers) as session:
            try:
                while True:
                    url = f"{self.address}/api/cpv/match"
                    async with session.post(url, json=REQUEST) as response:
                        assert response.status == 200
                        self._answered(await response.text())
            except (aiohttp.ClientError, ConnectionError):
                return

    def _answered(self, body: str) -> None:
        costs = json.loads(body, parse_float=Decimal)["metadata"]["costBreakdown"]
        self.prices.append(costs["finalCost"])
        if len(self.prices) == 3 * self.many:
            self.enough.set()

    async def until(self, end: int, process: object) -> None:
        """Call from many sides; end the process in the middle of it."""
        callers = [asyncio.create_task(self.call()) for _ in range(self.many)]
        await asyncio.wait_for(self.enough.wait(), 60)
        process.send_signal(end)  # type: ignore[attr-defined]
        await asyncio.wait_for(asyncio.gather(*callers), 60)


def charged(folder: Path, key: str) -> list[Decimal]:
    """Return what was charged, after checking that the books are sound."""
    with closing(sqlite3.connect(folder / "service.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    verified = ran("accounts", "verify", "--data", folder)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    with closing(Accounts(folder)) as accounts:
        holder = accounts.keys.holder(key)
        assert holder is not None
        prices = [entry.price_usd for entry in accounts.statement.charges()]
        assert accounts.balance(holder.account_id) == Decimal("5.00") - total(prices)
    return prices


def test_when_it_is_stopped_every_charged_call_gets_its_answer(tmp_path: Path) -> None:
    key = key_in(tmp_path)
    with serving(tmp_path, "--rate", "none") as server:
        crowd = Crowd(server.address, key)
        asyncio.run(crowd.until(signal.SIGTERM, server.process))
        server.ended()
    assert server.process.returncode == 0
    assert len(crowd.prices) >= 3 * crowd.many
    assert charged(tmp_path, key) == sorted(crowd.prices)


def test_when_it_is_killed_what_it_answered_is_charged_and_the_books_are_sound(
    tmp_path: Path,
) -> None:
    key = key_in(tmp_path)
    with serving(tmp_path, "--rate", "none") as server:
        crowd = Crowd(server.address, key)
        asyncio.run(crowd.until(signal.SIGKILL, server.process))
    assert server.process.returncode == -signal.SIGKILL
    prices = charged(tmp_path, key)
    assert not Counter(crowd.prices) - Counter(prices)
    # One charge at most for each who was waiting.
    assert len(prices) - len(crowd.prices) <= crowd.many
    with serving(tmp_path) as server, server.client(key) as client:
        assert client.post("/api/cpv/match", json=REQUEST).status_code == 200
    assert len(charged(tmp_path, key)) == len(prices) + 1


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGHUP])
def test_a_call_under_way_is_answered_before_the_service_stops(
    tmp_path: Path, end: signal.Signals
) -> None:
    with serving(tmp_path, "--metadata", "compact") as server:
        with socket.create_connection(server.place, timeout=30) as caller:
            body = _begin(caller)
            server.process.send_signal(end)
            _wait_until_closed(server)
            caller.sendall(body)
            with caller.makefile("rb") as answer:
                received = answer.read()
        assert received.startswith(b"HTTP/1.1 200 ")
        assert b'"metadata":{"cost":{"apiCost":0}}}' in received
        server.ended()
    assert server.process.returncode == 0
    assert [line["message"] for line in server.lines()] == ["request"]


def test_a_second_interrupt_does_not_wait(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        with socket.create_connection(server.place, timeout=30) as caller:
            _begin(caller)
            server.process.send_signal(signal.SIGINT)
            _wait_until_closed(server)
            server.process.send_signal(signal.SIGINT)
            with caller.makefile("rb") as answer:
                received = answer.read()
        # Nothing that says it was not charged: nobody waited to know.
        assert not received.startswith(b"HTTP/1.1 200 ")
        assert b"INTERNAL_ERROR" not in received
        server.ended()
    assert server.process.returncode == 130
    assert {line["level"] for line in server.lines()} == {"info"}  # it was asked to, so no error


def test_a_folder_has_one_service_and_commands_work_beside_it(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        second = ran("serve", "--data", tmp_path, "--port", 0, patience_s=20)
        assert second.returncode == 2
        assert second.stdout == ""
        assert second.stderr == (
            f"Error: Another service runs on the data folder {tmp_path}.\n"
            "Stop it, or choose another folder: --data DIR.\n"
        )
        assert key_in(tmp_path).startswith("tp_")
        assert server.process.poll() is None


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="only Linux limits other processes")
def test_without_space_nothing_is_charged_and_with_space_it_goes_on(tmp_path: Path) -> None:
    key = key_in(tmp_path)
    with serving(tmp_path, forked=False) as server, server.client(key) as client:
        before = client.post("/api/cpv/match", json=REQUEST)
        size, hard = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
        until(lambda: bool(server.lines()))  # an answer is logged when it is on its way
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (0, hard))
        for _ in range(3):
            full = client.post("/api/cpv/match", json=REQUEST)
            assert full.status_code == 500
            assert full.json()["error"] == "INTERNAL_ERROR"
        assert client.get("/health").status_code == 503
        del client.headers["X-API-Key"]
        assert client.post("/api/cpv/match", json=REQUEST).status_code == 200  # nobody is charged
        client.headers["X-API-Key"] = key
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, hard))
        assert client.get("/health").status_code == 200
        after = client.post("/api/cpv/match", json=REQUEST)
        assert (before.status_code, after.status_code) == (200, 200)
        server.ended(signal.SIGTERM)
    # There was no space for the log either; what is kept of it is written once there is.
    statuses = [line["status"] for line in server.lines() if line["message"] == "request"]
    assert (statuses[0], statuses[-1]) == (200, 200)
    assert len(charged(tmp_path, key)) == 2


def test_it_continues_when_nobody_reads_its_output_any_more(tmp_path: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "serve", "--port", "0", "--data", str(tmp_path), "--demo-rate", "none"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        address = process.stdout.readline().decode().split()[-1]
        process.stdout.close()
        process.stderr.close()
        for _ in range(3):
            answer = httpx.post(
                f"{address}/api/cpv/match", json=REQUEST, trust_env=False, timeout=None
            )
            assert answer.status_code == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def _begin(caller: socket.socket) -> bytes:
    """Begin a call, so that the service waits for its body; return that."""
    body = b'{"description": "Office chairs"}'
    head = (
        "POST /api/naics/match HTTP/1.1\r\nHost: service\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n"
    )
    caller.sendall(head.encode())
    assert caller.recv(1000).startswith(b"HTTP/1.1 100 ")
    return body


def _wait_until_closed(server: Serving) -> None:
    def is_closed() -> bool:
        try:
            socket.create_connection(server.place, timeout=30).close()
        except OSError:
            return True
        return False

    until(is_closed)  # not too often: else it is soon one connection too many
