"""A real server on loopback, and jobs that buy from it."""

from __future__ import annotations

import csv
import socket
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import uvicorn

from pipeline import job
from pipeline.answers import BatchAnswers, Match, Matched, System
from pipeline.api.addresses import canonical
from pipeline.buy import Purchase, PurchaseSettings
from pipeline.outputs import FileTarget
from pipeline.progress import silent
from pipeline.report import Summary
from pipeline.settings import Settings
from pipeline.tables import open_reader

CPV_AND_PSC = Settings(systems=("cpv", "psc"))


@contextmanager
def serving(app: Any) -> Iterator[str]:
    """Run an application in a thread on a free port of loopback; give its address."""
    config = uvicorn.Config(app, log_config=None, lifespan="off", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    # Named, because asyncio sends at once only on sockets that say they are TCP.
    with socket.socket(proto=socket.IPPROTO_TCP) as listening:
        listening.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            while not server.started and thread.is_alive():
                time.sleep(0.001)
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def nobody_there() -> str:
    """Return an address on loopback where nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


class CountingMatcher:
    """Answers any text with as many matches as it has words, and counts what it was asked."""

    def __init__(self, system: System, asked: list[tuple[System, str]]) -> None:
        self._system = system
        self._asked = asked

    def answers(self, batches: Iterable[Sequence[str]]) -> Iterator[BatchAnswers]:
        for texts in batches:
            self._asked.extend((self._system, text) for text in texts)
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


@dataclass(frozen=True)
class Buyer:
    """Runs jobs in one folder; an output is written over."""

    folder: Path
    how: PurchaseSettings
    settings: Settings = CPV_AND_PSC

    @property
    def source(self) -> Path:
        return self.folder / "in.csv"

    @property
    def output(self) -> Path:
        return self.folder / "out.csv"

    def but(self, **changes: Any) -> Buyer:
        """Return the same buyer with other ways to buy."""
        return replace(self, how=replace(self.how, **changes))

    def write(self, texts: Sequence[str]) -> None:
        with self.source.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "description"])
            writer.writerows(enumerate(texts))

    def run(self) -> Summary:
        reader = open_reader(self.source, self.settings.text_columns)
        with Purchase(self.how, self.settings, str(self.output)) as purchase:
            target = FileTarget(self.output, "csv", True, self.source)
            return job.run(
                reader, purchase.matcher, target, self.settings, silent, self.source, purchase
            )

    def rows(self) -> list[dict[str, str]]:
        with self.output.open(newline="") as file:
            return list(csv.DictReader(file))

    def row_costs(self) -> Decimal:
        return sum((Decimal(row["cost_usd"]) for row in self.rows()), Decimal(0))


def buyer(folder: Path, address: str, key: str | None, **how: Any) -> Buyer:
    """Return a buyer with a ledger in a folder and no limit of its own unless told."""
    settings = PurchaseSettings(
        canonical(address), key, folder / "ledger.db", **{"rate": None, "workers": 4} | how
    )
    return Buyer(folder, settings)
