"""A ledger that fails: a clear error, nothing sent unwritten, no answer lost in silence."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.classification import job
from pipeline.classification.file_sink import FileSink
from pipeline.classification.source import Source
from pipeline.errors import LedgerError
from pipeline.paid.ledger.database import Database
from pipeline.paid.purchase import PaidBuyer, PaidPurchase
from pipeline.purchases import Paid
from pipeline.tables import open_reader
from tests.paid.meanwhile import Meanwhile
from tests.paid.purchases import some
from tests.paid.serving import Buyer, Service, buyer, serving

TEXTS = [f"text number {number:02}" for number in range(30)]


def fails(user: Buyer, spoil: Callable[[PaidPurchase], None] = lambda _: None) -> tuple[str, Paid]:
    """Run a job whose ledger fails; return what is said, and what it has cost."""
    reader = open_reader(user.source, user.settings.text_columns)
    sink = FileSink(user.output, "csv", True, user.source)
    with PaidBuyer(user.service).open(user.settings, str(user.output)) as purchase:
        spoil(purchase)
        with pytest.raises(LedgerError) as caught:
            job.run(Source(reader), sink, user.settings, purchase)
        assert caught.value.exit_code == 8
        assert not user.output.exists()
        return str(caught.value), purchase.paid()


def check_books(paid: Paid, service: Service) -> None:
    """What the service charged is what is confirmed, and the unconfirmed at its price."""
    (price,) = {charge.price_usd for charge in service.accounts.statement.charges()}
    charged = len(service.accounts.statement.charges())
    confirmed = paid.confirmed_usd / price
    assert confirmed <= charged <= confirmed + paid.unconfirmed
    assert paid.at_risk_usd >= service.charged - paid.confirmed_usd


def finish(user: Buyer, service: Service) -> None:
    """Run the job again, its ledger mended, and look at the whole of it."""
    summary = user.run()
    assert summary.parked is None
    check_books(some(summary.paid), service)
    assert [row["cpv_status"] for row in user.rows()] == ["ok"] * len(TEXTS)
    assert user.row_costs() == summary.cost_usd
    asked = Counter(service.asked)
    assert sum(asked.values()) - len(asked) <= some(summary.paid).unconfirmed


def test_an_answer_that_cannot_be_written_is_kept_beside_the_ledger(
    tmp_path: Path, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Database] = []
    init = Database.__init__

    def noted(self: Database, path: Path) -> None:
        init(self, path)
        opened.append(self)

    monkeypatch.setattr(Database, "__init__", noted)

    def no_more_writing() -> None:
        with opened[-1].transaction() as connection:
            connection.execute("PRAGMA query_only = ON")

    with serving(Meanwhile(service.app(), 5, no_more_writing)) as address:
        user = buyer(tmp_path, address, service.account.key, workers=1)
        user.write(TEXTS)
        said, paid = fails(user)
        assert "readonly" in said
        assert "Make the file and its folder writable" in said
        assert (len(service.asked), paid.unconfirmed) == (6, 1)
        assert re.search(r"Kept in \S+ledger.db.answers-\w+: 1 answer\.", said)
        assert paid.confirmed_usd < service.charged <= paid.confirmed_usd + paid.at_risk_usd
        finish(user, service)
    assert len(service.asked) == 2 * len(TEXTS)


@pytest.mark.parametrize("pages", [2, 3, 4, 5])
def test_a_disk_that_is_full_in_the_middle_loses_no_answer(
    user: Buyer, service: Service, pages: int
) -> None:

    def fill(purchase: PaidPurchase) -> None:
        record = purchase.record

        def record_and_fill(batches: Any) -> Any:
            yield from record(batches)
            with purchase._job.database.transaction() as connection:
                (now,) = connection.execute("PRAGMA page_count").fetchone()
                connection.execute(f"PRAGMA max_page_count = {now + pages}")

        purchase.record = record_and_fill  # type: ignore[method-assign]

    user.write(TEXTS)
    said, paid = fails(user, fill)
    assert "full" in said
    assert "Free some space on the disk" in said
    assert 0 < len(service.asked) < 2 * len(TEXTS)
    check_books(paid, service)
    kept = len(service.asked) - paid.confirmed_usd / (service.charged / len(service.asked))
    if kept:
        answers = "1 answer" if kept == 1 else f"{kept:.0f} answers"
        assert f": {answers}." in said
    finish(user, service)
    assert set(Counter(service.asked).values()) == {1}


def test_a_ledger_that_is_damaged_is_an_error_before_anything_is_sent(
    user: Buyer, service: Service
) -> None:
    user.write(TEXTS)
    user.run()
    user.write([*TEXTS, "another text"])
    asked = len(service.asked)
    with user.service.ledger.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (user.service.ledger.stat().st_size - 4096))
    with pytest.raises(LedgerError) as caught:
        user.run()
    assert "Restore it from a copy" in caught.value.hint
    assert len(service.asked) == asked
