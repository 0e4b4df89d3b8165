"""Somebody with an account, a table and a ledger, who rehearses a run."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from pipeline.answers import SYSTEMS
from pipeline.service.accounts import Accounts, Entry
from tests.forking import Process
from tests.money_trail.books import Attempt, Output, read_attempts, read_output
from tests.money_trail.cells import cells_are_right
from tests.money_trail.checks import (
    agree,
    columns_agree,
    nothing_is_bought_twice,
    nothing_stays_under_way,
    statement_adds_up,
    statement_is_the_ledgers,
    totals_agree,
)
from tests.service.processes import Serving

__all__ = ["Customer", "Done", "books_agree", "finished", "until"]

PATIENCE_S = 60.0
"""How long anything may take before the test gives up."""

POLL_S = 0.01


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended.

    Attributes:
        exit_code: its exit code.
        out: what it printed.
        err: what it said besides.
    """

    exit_code: int
    out: str
    err: str


def finished(process: Process) -> Done:
    """Wait for a command to end, and return how it did."""
    out, err = process.communicate(timeout=PATIENCE_S)
    return Done(process.returncode, out, err)


@contextmanager
def started(arguments: Sequence[object], key: str | None) -> Iterator[Process]:
    """Start a command with a key or without; it does not outlive the block."""
    env = {name: value for name, value in os.environ.items() if name != "TENDER_PIPELINE_API_KEY"}
    if key is not None:
        env["TENDER_PIPELINE_API_KEY"] = key
    pipe = subprocess.PIPE
    with Process(arguments, env=env, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def until(happened: Callable[[], bool]) -> None:
    """Wait until something is so.

    Raises:
        TimeoutError: it takes too long.
    """
    last = time.monotonic() + PATIENCE_S
    while not happened():
        if time.monotonic() > last:
            raise TimeoutError
        time.sleep(POLL_S)


TOP = 10


@dataclass
class Customer:
    """A customer of a service.

    Attributes:
        folder: where the table, the ledger and the output are.
        accounts: the service's.
        account: the customer's.
        key: what the runs send; None: nothing.
    """

    folder: Path
    accounts: Accounts
    account: int
    key: str | None = field(repr=False)

    @property
    def table(self) -> Path:
        """What is to be classified."""
        return self.folder / "tenders.csv"

    @property
    def output(self) -> Path:
        """What comes of it."""
        return self.folder / "classified.csv"

    @property
    def ledger(self) -> Path:
        """What the runs keep."""
        return self.folder / "ledger.db"

    def write(self, texts: Iterable[str]) -> None:
        """Write the table, a row for each text."""
        with self.table.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "description"])
            writer.writerows(enumerate(texts))

    @contextmanager
    def running(self, server: Serving, *options: object) -> Iterator[Process]:
        """Start the run; further options do not make it another job."""
        paths = [self.table, "--output", self.output, "--top", TOP, "--ledger", self.ledger]
        arguments = ["run", *paths, "--base-url", server.address, *options]
        with started(arguments, self.key) as process:
            yield process

    def run(self, server: Serving, *options: object) -> Done:
        """Run until it is over."""
        with self.running(server, *options) as process:
            return finished(process)

    def run_offline(self) -> list[dict[str, str]]:
        """Return the rows that the embedded engine gives for the same table."""
        output = self.folder / "offline.csv"
        sure = ("--min-confidence", "0")  # as what a service answers is not judged
        arguments = ["run", self.table, "--output", output, "--top", TOP, *sure]
        with started(arguments, None) as process:
            assert finished(process).exit_code == 0
        return read_output(output).rows

    def entries(self) -> list[Entry]:
        """Return the account's statement, the oldest entry first."""
        return self.accounts.statement.entries(self.account, most=1_000_000)[::-1]

    def charges(self) -> list[Entry]:
        """Return what the account was charged, the oldest first."""
        return [entry for entry in self.entries() if entry.kind == "charge"]

    def attempts(self) -> list[Attempt]:
        """Return what the ledger has."""
        return read_attempts(self.ledger)

    @property
    def balance(self) -> Decimal:
        """What the account has left, US dollars."""
        return self.accounts.balance(self.account)


def books_agree(customer: Customer, done: Done) -> Output:
    """Compare the statement, the ledger, the table and what was printed; return the table.

    Args:
        customer: whose.
        done: the run that completed the table.

    Raises:
        AssertionError: something is not the same to the last digit.
    """
    entries, attempts = customer.entries(), customer.attempts()
    output = read_output(customer.output)
    agree(
        statement_adds_up(entries, customer.balance),
        statement_is_the_ledgers(entries, attempts),
        nothing_is_bought_twice(attempts),
        nothing_stays_under_way(attempts),
        totals_agree(attempts, output),
        columns_agree(attempts, output),
        cells_are_right(output, attempts, attempts[-1].job),
        _printed(done.out, output),
    )
    return output


def _printed(out: str, output: Output) -> list[str]:
    """Compare what a run printed with its manifest."""
    summary = output.summary
    figures = {
        r"^[\d,]+ rows in .*, (\S+) USD$": summary["cost_usd"],
        r"^paid by this job: (\S+) USD": summary["paid"]["confirmed_usd"],
    }
    for system in SYSTEMS:
        figures[rf"^{system} .* (\S+)$"] = summary["systems"][system]["cost_usd"]
    printed = {pattern: re.findall(pattern, out, re.MULTILINE) for pattern in figures}
    return [
        f"{printed[pattern]} printed, {usd} in the manifest: {pattern}"
        for pattern, usd in figures.items()
        if printed[pattern] != [usd]
    ]
