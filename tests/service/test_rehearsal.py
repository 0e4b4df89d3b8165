"""A run against the service gets what the embedded engine gives, and every book has its price."""

from __future__ import annotations

import csv
import json
import re
import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pytest

from benchmarks.texts import made_texts
from pipeline.answers import SYSTEMS
from pipeline.money import ZERO
from pipeline.service.accounts import Accounts, Entry
from pipeline.service.app import create_app, engine_matchers
from pipeline.service.http.messages import MAX_CHARACTERS, METADATA, Metadata
from tests.cli.conftest import Capture, Command, command
from tests.money_trail.books import Output, read_attempts, read_output
from tests.money_trail.checks import (
    agree,
    cells_are_right,
    columns_agree,
    nothing_is_bought_twice,
    nothing_stays_under_way,
    statement_adds_up,
    statement_is_the_ledgers,
    totals_agree,
)
from tests.service.sockets import serving

__all__ = ["command"]

TOO_LONG = "road " * (MAX_CHARACTERS // 5) + "works"
KNOWN = made_texts(9)
TEXTS = [KNOWN[0], TOO_LONG, *KNOWN[1:], "Хххьь qqxz жжж", KNOWN[3], "", " \t ", f"  {KNOWN[0]} "]
DISTINCT = 10

LAST_DIGIT = 0.00011
"""A confidence has four places; the last depends on what is scored together."""

TABLE, OUTPUT, LEDGER = Path("tenders.csv"), Path("classified.csv"), Path("ledger.db")


@dataclass
class Customer:
    """Somebody with an account and a table, who runs against a service."""

    command: Command
    capsys: Capture
    accounts: Accounts
    account: int
    key: str

    def run(self, place: tuple[str, int]) -> int:
        """Run the table's job; return the exit code."""
        address = "http://{}:{}".format(*place)
        paths = [TABLE, "--output", OUTPUT, "--ledger", LEDGER, "--top", 10]
        self.capsys.readouterr()
        return self.command(
            "run", *paths, "--base-url", address, "--rate", "none", api_key=self.key
        )

    def entries(self) -> list[Entry]:
        """Return the account's statement, the oldest entry first."""
        return list(self.accounts.statement.each(self.account))

    def books_agree(self) -> Output:
        """Compare the statement, the ledger, the table and what was printed; return the table."""
        entries, attempts, output = self.entries(), read_attempts(LEDGER), read_output(OUTPUT)
        agree(
            statement_adds_up(entries, self.accounts.balance(self.account)),
            statement_is_the_ledgers(entries, attempts),
            nothing_is_bought_twice(attempts),
            nothing_stays_under_way(attempts),
            totals_agree(attempts, output),
            columns_agree(attempts, output),
            cells_are_right(output, attempts, attempts[-1].job),
            printed(self.capsys.readouterr().out, output),
        )
        return output


def printed(out: str, output: Output) -> list[str]:
    """Compare what a run printed with its manifest."""
    summary = output.summary
    figures = {
        r"^[\d,]+ rows in .*, (\S+) USD$": summary["cost_usd"],
        r"^paid by this job: (\S+) USD": summary["paid"]["confirmed_usd"],
        **{rf"^{one} .* (\S+)$": summary["systems"][one]["cost_usd"] for one in SYSTEMS},
    }
    found = {pattern: re.findall(pattern, out, re.MULTILINE) for pattern in figures}
    return [
        f"{found[one]}, not {usd}: {one}" for one, usd in figures.items() if found[one] != [usd]
    ]


@pytest.fixture
def customer(command: Command, capsys: Capture, tmp_path: Path) -> Iterator[Customer]:
    with closing(Accounts(tmp_path / "data")) as accounts:
        opened = accounts.open()
        yield Customer(command, capsys, accounts, opened.account_id, opened.key)


def write(texts: Iterable[str]) -> None:
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "description"])
        writer.writerows(enumerate(texts))


@pytest.mark.parametrize("metadata", METADATA)
def test_all_systems_are_answered_as_offline_and_charged_to_the_last_digit(
    customer: Customer, metadata: Metadata
) -> None:
    write(TEXTS)
    offline = Path("offline.csv")
    sure = ("--min-confidence", "0")  # as what a service answers is not judged
    assert customer.command("run", TABLE, "--output", offline, "--top", 10, *sure) == 0
    app = create_app(customer.accounts, engine_matchers(), metadata=metadata, key_rate=None)
    with serving(app) as place:
        assert customer.run(place) == 3  # complete, but for the text that is too long
    output = customer.books_agree()
    states = [one.state for one in read_attempts(LEDGER)]
    assert states.count("answered") == len(SYSTEMS) * DISTINCT == len(customer.entries()) - 1
    assert Decimal(output.summary["cost_usd"]) == 5 - customer.accounts.balance(1) > ZERO
    assert forms(LEDGER) == ({"detailed", "compact"} if metadata == "mixed" else {metadata})
    for row, expected in zip(output.rows, read_output(offline).rows, strict=True):
        if row["description"] == TOO_LONG:
            assert refused(row)
        else:
            same_matches(row, expected)
    paid = [row["id"] for row in output.rows if Decimal(row["cost_usd"])]
    assert paid == [row["id"] for row in output.rows[: DISTINCT + 1] if row["id"] != "1"]


def forms(ledger: Path) -> set[str]:
    """Return the forms of metadata among the answers that a ledger keeps."""
    with closing(sqlite3.connect(ledger)) as connection:
        bodies = [json.loads(zlib.decompress(body)) for (body,) in connection.execute(BODIES)]
    return {"detailed" if "costBreakdown" in body["metadata"] else "compact" for body in bodies}


BODIES = "SELECT body FROM bodies JOIN attempts USING (attempt_id) WHERE state = 'answered'"


def refused(row: dict[str, str]) -> bool:
    """Say whether every system refused a row's text, for nothing."""
    return all(
        (row[f"{system}_status"], row[f"{system}_code"], row[f"{system}_cost_usd"])
        == ("VALIDATION_ERROR", "", "0")
        for system in SYSTEMS
    )


def same_matches(row: dict[str, str], expected: dict[str, str]) -> None:
    """Compare all that two runs say of a row, but for what it costs."""
    for system in SYSTEMS:
        for column in ("status", "code", "title"):
            assert row[f"{system}_{column}"] == expected[f"{system}_{column}"]
        found, known = (json.loads(one[f"{system}_matches"] or "[]") for one in (row, expected))
        assert [(one["code"], one["title"]) for one in found] == [
            (one["code"], one["title"]) for one in known
        ]
        assert [one["confidence"] for one in found] == pytest.approx(
            [one["confidence"] for one in known], rel=0, abs=LAST_DIGIT
        )


def test_a_run_parks_without_money_or_key_and_goes_on_with_them_for_nothing_twice(
    customer: Customer,
) -> None:
    write(made_texts(8))
    accounts = customer.accounts
    poor = accounts.open(Decimal("0.0015"))
    customer.account, customer.key = poor.account_id, poor.key
    with serving(create_app(accounts, engine_matchers(), key_rate=None)) as place:
        assert customer.run(place) == 5
        assert "balance" in customer.capsys.readouterr().out
        assert not OUTPUT.exists()
        # It would not pay for a dear call.
        assert ZERO <= accounts.balance(poor.account_id) < Decimal("0.00015")
        paid = len(customer.entries())
        assert customer.run(place) == 5
        accounts.keys.revoke(poor.account_id, poor.key_id)
        accounts.statement.top_up(poor.account_id, Decimal("1"))
        assert customer.run(place) == 4
        assert len(customer.entries()) == paid + 1
        customer.key = accounts.keys.make(poor.account_id, "another").key
        assert customer.run(place) == 0
    customer.books_agree()
    assert len(customer.entries()) == 2 + len(SYSTEMS) * 8
