"""Runs that the service stops: each parks, and the same command pays for nothing twice."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

from benchmarks.texts import made_texts
from pipeline.answers import SYSTEMS
from pipeline.money import ZERO
from tests.service.processes import Serving, serving
from tests.service.rehearsal.conftest import NewCustomer
from tests.service.rehearsal.customer import books_agree, finished, until

SLOWLY = ("--rate", "10/s")
"""Leaves the test time to do something meanwhile."""

QUICKLY = ("--rate", "none")


def test_a_key_that_is_revoked_parks_the_run_and_a_new_key_goes_on(
    server: Serving, new_customer: NewCustomer
) -> None:
    customer = new_customer(server.folder)
    customer.write(made_texts(40))
    with customer.running(server, *SLOWLY) as run:
        until(lambda: len(customer.charges()) >= 6)
        (key,) = customer.accounts.keys.of(customer.account)
        assert customer.accounts.keys.revoke(customer.account, key.key_id)
        parked = finished(run)
    assert parked.exit_code == 4, parked.err
    assert "stopped, can be continued: " in parked.out
    paid = len(customer.charges())
    assert 6 <= paid < len(SYSTEMS) * 40
    assert {one.error for one in customer.attempts() if one.state == "free"} == {"UNAUTHORIZED"}
    again = customer.run(server, *QUICKLY)
    assert again.exit_code == 4
    assert len(customer.charges()) == paid
    customer.key = customer.accounts.keys.make(customer.account, "another").key
    done = customer.run(server, *QUICKLY)
    assert done.exit_code == 0, done.err
    books_agree(customer, done)
    assert len(customer.charges()) == len(SYSTEMS) * 40


def test_an_empty_balance_parks_the_run_and_a_top_up_goes_on(
    server: Serving, new_customer: NewCustomer
) -> None:
    customer = new_customer(server.folder, Decimal("0.0015"))
    texts = made_texts(8)
    customer.write(texts)
    parked = customer.run(server, *QUICKLY)
    assert parked.exit_code == 5, parked.err
    assert "balance" in parked.out
    assert not customer.output.exists()
    assert ZERO <= customer.balance < Decimal("0.00015")  # it would not pay for a dear call
    paid = len(customer.charges())
    assert customer.run(server, *QUICKLY).exit_code == 5
    customer.accounts.statement.top_up(customer.account, Decimal("0.001"), "half of it")
    assert customer.run(server, *QUICKLY).exit_code == 5
    assert paid < len(customer.charges()) < len(SYSTEMS) * 8
    customer.accounts.statement.top_up(customer.account, Decimal("1"))
    done = customer.run(server, *QUICKLY)
    assert done.exit_code == 0, done.err
    books_agree(customer, done)
    kinds = [entry.kind for entry in customer.entries() if entry.kind != "charge"]
    assert kinds == ["opening", "top-up", "top-up"]
    assert len(customer.charges()) == len(SYSTEMS) * 8


def test_a_run_that_asks_more_often_than_it_may_waits_and_is_charged_for_answers_only(
    tmp_path: Path, new_customer: NewCustomer
) -> None:
    customer = new_customer(tmp_path / "data")
    customer.write(made_texts(8))
    with serving(tmp_path / "data", "--rate", "18/2s") as server:
        done = customer.run(server, "--rate", "200/2s")
    assert done.exit_code == 0, done.err
    books_agree(customer, done)
    refused = [one for one in customer.attempts() if one.error == "RATE_LIMIT_EXCEEDED"]
    assert refused
    assert all((one.state, one.cost_usd) == ("free", None) for one in refused)
    assert len(customer.charges()) == len(SYSTEMS) * 8
    times = [entry.at for entry in customer.charges()]
    assert times[18] - times[0] >= 1.9  # the limit counts when a request comes, not its charge


def test_without_a_key_ten_calls_an_hour_are_answered_and_nobody_pays(
    server: Serving, new_customer: NewCustomer
) -> None:
    customer = new_customer(server.folder)
    key, customer.key = customer.key, None
    customer.write(made_texts(3))
    parked = customer.run(server)
    assert parked.exit_code == 7, parked.err
    demo = customer.attempts()
    assert [one.state for one in demo] == ["answered"] * 10
    assert customer.charges() == []
    assert [one.cost_usd for one in demo] == [ZERO] * 10
    again = customer.run(server)
    assert again.exit_code == 7
    assert len(customer.attempts()) == 10  # the run knows without asking
    customer.key = key
    done = customer.run(server)
    assert done.exit_code == 0, done.err
    books_agree(customer, done)
    assert len(customer.charges()) == len(SYSTEMS) * 3 - 10
