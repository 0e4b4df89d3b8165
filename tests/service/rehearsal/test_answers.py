"""A run against the service gets what the embedded engine gives, and every book has its price."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import pytest

from benchmarks.texts import made_texts
from pipeline.answers import SYSTEMS
from pipeline.money import ZERO
from pipeline.service.accounts import STARTING_BALANCE
from pipeline.service.http.messages import MAX_CHARACTERS, METADATA, Metadata
from tests.service.processes import serving
from tests.service.rehearsal.conftest import NewCustomer
from tests.service.rehearsal.customer import Customer, books_agree

TOO_LONG = "road " * (MAX_CHARACTERS // 5) + "works"
KNOWN = made_texts(9)
TEXTS = [KNOWN[0], TOO_LONG, *KNOWN[1:], "Хххьь qqxz жжж", KNOWN[3], "", " \t ", f"  {KNOWN[0]} "]
DISTINCT = 10

LAST_DIGIT = 0.00011
"""A confidence has four places; the last depends on what is scored together."""


@pytest.fixture(scope="module")
def offline(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, str]]:
    """Return the engine's own rows for the table."""
    nobody = Customer(tmp_path_factory.mktemp("offline"), None, 0, None)  # type: ignore[arg-type]
    nobody.write(TEXTS)
    return nobody.run_offline()


@pytest.mark.parametrize("metadata", METADATA)
def test_all_systems_are_answered_as_offline_and_charged_to_the_last_digit(
    tmp_path: Path,
    new_customer: NewCustomer,
    offline: list[dict[str, str]],
    metadata: Metadata,
) -> None:
    customer = new_customer(tmp_path / "data")
    customer.write(TEXTS)
    with serving(tmp_path / "data", "--metadata", metadata) as server:
        done = customer.run(server)
    assert done.exit_code == 3, done.err  # complete, but for the text that is too long
    output = books_agree(customer, done)
    attempts = customer.attempts()
    assert [one.state for one in attempts].count("answered") == len(SYSTEMS) * DISTINCT
    assert len(customer.charges()) == len(SYSTEMS) * DISTINCT
    assert Decimal(output.summary["cost_usd"]) == STARTING_BALANCE - customer.balance > ZERO
    assert forms(customer.ledger) == (
        {"detailed", "compact"} if metadata == "mixed" else {metadata}
    )
    for row, expected in zip(output.rows, offline, strict=True):
        if row["description"] == TOO_LONG:
            assert refused(row)
        else:
            same_matches(row, expected)
    paid = [row["id"] for row in output.rows if Decimal(row["cost_usd"])]
    assert paid == [row["id"] for row in output.rows[: DISTINCT + 1] if row["id"] != "1"]


def forms(ledger: Path) -> Iterator[str] | set[str]:
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
        assert [one["code"] for one in found] == [one["code"] for one in known]
        assert [one["title"] for one in found] == [one["title"] for one in known]
        assert [one["confidence"] for one in found] == pytest.approx(
            [one["confidence"] for one in known], rel=0, abs=LAST_DIGIT
        )
