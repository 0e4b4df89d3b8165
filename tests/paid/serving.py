"""A real server on loopback, and jobs that buy from it."""

from __future__ import annotations

import asyncio
import csv
import json
import logging
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import starlette.responses
import uvicorn

from pipeline.answers import SYSTEMS, BatchAnswers, Match, Matched, System
from pipeline.classification.file_sink import FileSink
from pipeline.classification.job import Stages
from pipeline.classification.sink import MemorySink
from pipeline.classification.source import Source
from pipeline.classification.summary import Summary
from pipeline.decisions.decisions import NO_DECISIONS, Decisions
from pipeline.paid.purchase import PaidBuyer, PaidPurchase
from pipeline.paid.service import PaidService
from pipeline.purchases import Estimate
from pipeline.service.accounts import Accounts, NewKey
from pipeline.service.app import create_app
from pipeline.settings import Settings
from pipeline.tables.formats import open_reader
from tests.forking import Process

ROOT = Path(__file__).parents[2]

CPV_AND_PSC = Settings(systems=("cpv", "psc"))


@contextmanager
def serving(app: Any, protocol: Any = "auto") -> Iterator[str]:
    """Run an application in a thread on a free port of loopback; give its address."""
    # Named, because asyncio sends at once only on sockets that say they are TCP.
    with socket.socket(proto=socket.IPPROTO_TCP) as listening:
        listening.bind(("127.0.0.1", 0))
        with served(app, listening, protocol) as address:
            yield address


@contextmanager
def served(app: Any, listening: socket.socket, protocol: Any = "auto") -> Iterator[str]:
    """Run an application in a thread on a socket; give its address."""
    config = uvicorn.Config(
        app, http=protocol, log_config=None, lifespan="off", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.001)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


TAKEN: list[socket.socket] = []


def nobody_there() -> str:
    """Return an address on loopback where nothing listens, nor will before the tests end."""
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    TAKEN.append(taken)  # else a service of another test could get the port
    return f"http://127.0.0.1:{taken.getsockname()[1]}"


class WordMatcher:
    """Answers any text with as many matches as it has words."""

    def __init__(self, system: System) -> None:
        self._system = system

    def answers(self, batches: Iterable[Sequence[str]]) -> Iterator[BatchAnswers]:
        for texts in batches:
            yield {
                self._system: [
                    Matched(
                        tuple(
                            Match(f"{place:08}", word * 7, 1 / (place + 1))
                            for place, word in enumerate(text.split()[:10])
                        )
                    )
                    for text in texts
                ]
            }


Response: TypeAlias = tuple[int, dict[str, str], str]
"""A status, headers and a body."""


@dataclass
class Service:
    """The service under test: where it is, who pays, what it was asked.

    Attributes:
        asked: the calls that it answered.
        script: what it answers some requests instead, by their number from 0.
        down: what it answers all requests about a system instead.
        reached: the system that each request was about.
    """

    accounts: Accounts
    account: NewKey
    asked: list[tuple[System, str]] = field(default_factory=list)
    script: dict[int, Response] = field(default_factory=dict)
    down: dict[str, Response] = field(default_factory=dict)
    reached: list[str] = field(default_factory=list)

    @property
    def requests(self) -> int:
        """How many requests there were."""
        return len(self.reached)

    def app(self, **options: Any) -> Any:
        matchers = {system: WordMatcher(system) for system in SYSTEMS}
        app = create_app(self.accounts, matchers, **{"key_rate": None} | options)

        async def scripted(scope: Any, receive: Any, send: Any) -> None:
            _, _, system = scope["path"].removesuffix("/match").rpartition("/")
            if instead := self.script.get(self.requests) or self.down.get(system):
                self.reached.append(system)
                status, headers, answer = instead
                await starlette.responses.Response(answer, status, headers)(scope, receive, send)
                return
            self.reached.append(system)
            body = bytearray()

            async def reading() -> Any:
                message = await receive()
                body.extend(message.get("body", b""))
                return message

            async def noting(message: Any) -> None:
                if message.get("status") == 200:
                    text = json.loads(body)["description"]
                    self.asked.append((system, text))
                await send(message)

            await app(scope, reading, noting)

        return scripted

    @property
    def charged(self) -> Decimal:
        return sum((charge.price_usd for charge in self.accounts.statement.charges()), Decimal(0))


class Sluice:
    """Lets so many requests through; the next ones wait until it is opened.

    Those that wait at one that ``loses`` them are billed, and never answered: the buyer is killed
    meanwhile.
    """

    def __init__(self, app: Any, free: int, loses: bool = False) -> None:
        self._app = app
        self._left = free
        self._loses = loses
        self._opened = threading.Event()
        self.reached = threading.Event()

    def open(self) -> None:
        self._opened.set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self._left -= 1
        if self._left >= 0 or self._opened.is_set():
            await self._app(scope, receive, send)
        elif self._loses:
            await self._app(scope, receive, self._silence)
            while (await receive())["type"] != "http.disconnect":
                pass
        else:
            self.reached.set()
            await asyncio.to_thread(self._opened.wait, 30)
            await self._app(scope, receive, send)

    async def _silence(self, _: Any) -> None:
        self.reached.set()


@dataclass(frozen=True)
class Buyer:
    """Runs jobs in one folder; an output is written over."""

    folder: Path
    service: PaidService
    settings: Settings = CPV_AND_PSC

    @property
    def source(self) -> Path:
        return self.folder / "in.csv"

    @property
    def output(self) -> Path:
        return self.folder / "out.csv"

    def but(self, **changes: Any) -> Buyer:
        """Return the same buyer with other terms."""
        return replace(self, service=replace(self.service, **changes))

    def write(self, texts: Sequence[str]) -> None:
        with self.source.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "description"])
            writer.writerows(enumerate(texts))

    def open(self, **how: Any) -> PaidPurchase:
        return PaidBuyer(self.service).open(self.settings, str(self.output), **how)

    def run(self, decisions: Decisions = NO_DECISIONS) -> Summary:
        with self.open(decisions=decisions) as purchase:
            return self.finish(purchase)

    def finish(self, purchase: PaidPurchase) -> Summary:
        """Run the job of a purchase that is open."""
        sink = FileSink(self.output, "csv", True, self.source)
        return Stages(self._table(), sink, self.settings, purchase).run()

    def plan(self, decisions: Decisions = NO_DECISIONS) -> Estimate:
        """Say what a run would take, as ``plan`` does."""
        with self.open(decisions=decisions, plan_only=True) as purchase:
            return Stages(self._table(), MemorySink(), self.settings, purchase).plan().purchase

    def _table(self) -> Source:
        return Source(open_reader(self.source, self.settings.text_columns), self.source)

    def rows(self) -> list[dict[str, str]]:
        with self.output.open(newline="") as file:
            return list(csv.DictReader(file))

    def row_costs(self) -> Decimal:
        return sum((Decimal(row["cost_usd"] or 0) for row in self.rows()), Decimal(0))

    def statuses(self, system: str = "cpv") -> list[str]:
        return [row[f"{system}_status"] for row in self.rows()]


T = TypeVar("T")


def some(value: T | None) -> T:
    """Return a value that must not be None."""
    assert value is not None
    return value


def check_money(user: Buyer, service: Service) -> None:
    """The rows, the charges and what the account lost are one amount."""
    assert user.row_costs() == service.charged
    balance = service.accounts.balance(service.account.account_id)
    assert Decimal("5.00") - balance == service.charged


def buyer(folder: Path, address: str, key: str | None, **terms: Any) -> Buyer:
    """Return a buyer with a ledger in a folder and, unless the terms say so, no limit."""
    usual: dict[str, Any] = {"ledger": folder / "ledger.db", "rate": "none", "workers": 4}
    return Buyer(folder, PaidService(address, key, **usual | terms))


def run() -> None:
    """Run the job of a folder: what `started` has a process of its own do."""
    logging.basicConfig(level="INFO")
    folder, address, key, terms = sys.argv[1:]
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        user = buyer(Path(folder), address, key, **{"workers": 3} | json.loads(terms))
        parked = user.run().parked
    except Exception as error:
        sys.exit(f"{type(error).__name__}: {error}")
    sys.exit(parked.exit_code if parked else 0)


def started(
    folder: Path, address: str, key: str, stderr: int | None = None, **terms: Any
) -> Process:
    """Run the job of a folder in a process of its own."""
    arguments = [folder, address, key, json.dumps(terms, default=str)]
    return Process(arguments, call="tests.paid.serving:run", stderr=stderr, text=True)


class Meanwhile:
    """Does something while a request, by its number from 0, is under way."""

    def __init__(self, app: Any, number: int, do: Callable[[], None]) -> None:
        self._app = app
        self._left = number
        self._do = do

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self._left -= 1
        if self._left == -1:
            await asyncio.to_thread(self._do)  # it may buy, too
        await self._app(scope, receive, send)
