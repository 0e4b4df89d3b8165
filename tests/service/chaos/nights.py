"""A service that injects faults, and what its record says of each call."""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from pipeline.rate import Rate
from pipeline.service.accounts import Accounts
from pipeline.service.app import create_app
from pipeline.service.chaos.faults import Fault, Script
from pipeline.service.chaos.record import Record, Served
from pipeline.service.chaos.server import DroppableConnections, FaultServer
from tests.paid.serving import serving
from tests.service.conftest import SCRIPTED

ROAD = sha256(b"road").digest()


@dataclass
class Night:
    """A service with faults that listens."""

    address: str
    accounts: Accounts
    folder: Path
    key: str

    def client(self) -> httpx.Client:
        headers = {"X-API-Key": self.key}
        return httpx.Client(base_url=self.address, headers=headers, timeout=None, trust_env=False)

    @contextmanager
    def connection(self) -> Iterator[http.client.HTTPConnection]:
        connection = http.client.HTTPConnection(urlsplit(self.address).netloc, timeout=30)
        with closing(connection):
            yield connection

    def ask(self, connection: http.client.HTTPConnection) -> None:
        """Ask on a connection of the caller's, which does not hide what happens to it."""
        headers = {"X-API-Key": self.key, "Content-Type": "application/json"}
        connection.request("POST", "/api/cpv/match", b'{"description": "road"}', headers)

    def leave(self) -> None:
        """Ask, and leave before the answer."""
        with self.connection() as connection:
            self.ask(connection)

    def record(self) -> list[Served]:
        opened = Record(self.folder)
        try:
            return opened.requests()
        finally:
            opened.close()

    def wait_for(self, what: Callable[[Served], bool], requests: int = 1) -> Served:
        """Return the last of so many requests once something is true of each."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            record = self.record()
            if len(record) == requests and all(map(what, record)):
                return record[-1]
            time.sleep(0.005)
        raise AssertionError(record)

    def billed(self) -> list[Decimal]:
        """Return what was billed, after checking that the record and the accounts agree."""
        recorded = [one.billed_usd for one in self.record() if one.billed_usd is not None]
        charges = self.accounts.statement.charges()
        assert sorted(recorded) == sorted(charge.price_usd for charge in charges)
        holder = self.accounts.keys.holder(self.key)
        assert holder is not None
        left = self.accounts.balance(holder.account_id)
        assert Decimal("5.00") - left == sum(recorded)
        return recorded


@contextmanager
def night(folder: Path, *faults: Fault, rate: Rate | None = None) -> Iterator[Night]:
    accounts, record = Accounts(folder), Record(folder)
    app = create_app(accounts, SCRIPTED, key_rate=rate)
    try:
        server = FaultServer(app, Script(seed=1, fault=faults), record)
        with serving(server, DroppableConnections) as address:
            yield Night(address, accounts, folder, accounts.open().key)
    finally:
        record.close()
        accounts.close()


def match(client: httpx.Client, text: str = "road") -> httpx.Response:
    return client.post("/api/cpv/match", json={"description": text})
