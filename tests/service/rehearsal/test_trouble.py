"""Services that fail, are restarted or killed: the run outlives it, and every book agrees."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from benchmarks.texts import made_texts
from pipeline.answers import SYSTEMS
from pipeline.service.chaos.record import Record
from tests.money_trail.books import read_service
from tests.money_trail.checks import (
    agree,
    billed_as_recorded,
    every_request_was_written_down,
    follow,
    money_agrees,
    prices_are_as_stated,
)
from tests.service.processes import Serving, serving
from tests.service.rehearsal.conftest import NewCustomer
from tests.service.rehearsal.customer import Customer, books_agree, finished, until

TEXTS = 12
CALLS = len(SYSTEMS) * TEXTS

SLOW_ANSWERS = """
[[fault]]
kind = "drip"  # charged before
seconds = 60
requests = [10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25]
"""
SLOW, BEFORE = 16, 9

NONE = "seed = 1"


def test_a_service_that_is_killed_loses_answers_but_no_charge(
    tmp_path: Path, new_customer: NewCustomer
) -> None:
    customer = new_customer(tmp_path / "data")
    customer.write(made_texts(TEXTS))
    how = ("--rate", "none", "--workers", SLOW)
    with (
        serving_faults(tmp_path, SLOW_ANSWERS) as server,
        closing(Record(server.folder)) as record,
        customer.running(server, *how) as run,
    ):
        # The record is written after the statement, and what it lacks here nobody adds.
        until(lambda: sum(one.billed_usd is not None for one in record.requests()) == BEFORE + SLOW)
        server.ended(signal.SIGKILL)
        parked = finished(run)
    assert parked.exit_code == 6, parked.err
    with serving_faults(tmp_path, NONE, server.port) as server:
        done = customer.run(server, *how)
    assert done.exit_code == 0, done.err
    books_agree(customer, done)
    record_agrees(customer, server.folder)
    lost = [one for one in customer.attempts() if one.unconfirmed]
    assert len(lost) == SLOW
    assert len(customer.charges()) == CALLS + SLOW


@contextmanager
def serving_faults(folder: Path, faults: str, port: int = 0) -> Iterator[Serving]:
    """Serve without a limit, and let go wrong what a script says."""
    script = folder / "night.toml"
    script.write_text(faults, "utf-8")
    with serving(folder / "data", "--rate", "none", "--faults", script, port=port) as server:
        yield server


def record_agrees(customer: Customer, data: Path) -> None:
    """Compare the record of a service with faults with everything else."""
    service, attempts = read_service(data), customer.attempts()
    trail = follow(attempts, service.requests)
    agree(
        billed_as_recorded(service),
        every_request_was_written_down(trail),
        prices_are_as_stated(trail),
        money_agrees(trail, service),
    )
