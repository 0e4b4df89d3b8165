"""What a crash left open in the ledger is judged by the next run, once."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from decimal import Decimal
from pathlib import Path

from pipeline.paid.client.urls import key_fingerprint
from pipeline.paid.ledger.calls import Call
from pipeline.paid.ledger.journal import Journal
from pipeline.paid.ledger.ledger import Ledger
from tests.paid.serving import Buyer, Service, buyer, serving

RESERVED = Decimal("0.0003")


def crash_with_one_under_way(user: Buyer, text: str) -> None:
    """Leave an attempt of the buyer's job as a process does that dies before the answer."""
    ledger = Ledger(user.service.ledger, user.service.base_url)
    journal = Journal(ledger.open_job(str(user.output)), key_fingerprint(user.service.api_key))
    asyncio.run(journal.record_attempt(Call("cpv", text), RESERVED))
    ledger.close()


def states(ledger: Path) -> list[tuple[str, str | None]]:
    with closing(sqlite3.connect(ledger)) as connection:
        found = connection.execute("SELECT state, error FROM attempts ORDER BY attempt_id")
        return found.fetchall()


def test_an_attempt_that_was_under_way_is_unconfirmed_and_its_text_is_asked_again(
    tmp_path: Path, service: Service
) -> None:
    with serving(service.app()) as address:
        user = buyer(tmp_path, address, service.account.key)
        user.write(["one text"])
        crash_with_one_under_way(user, "one text")
        summary = user.run()
    assert summary.paid is not None
    assert (summary.paid.unconfirmed, summary.paid.at_risk_usd) == (1, RESERVED)
    assert states(user.service.ledger) == [
        ("unconfirmed", "INTERRUPTED"),
        ("answered", None),
        ("answered", None),
    ]
