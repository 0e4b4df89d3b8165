"""A ledger that fails: a clear error, nothing sent unwritten, no answer lost in silence."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import LedgerError
from pipeline.paid.ledger.database import Database
from pipeline.purchases import Paid
from tests.paid.serving import Buyer, Meanwhile, Service, buyer, serving, some

TEXTS = [f"text number {number:02}" for number in range(30)]


def fails(user: Buyer) -> tuple[str, Paid]:
    """Run a job whose ledger fails; return what is said, and what it has cost."""
    with user.open() as purchase:
        with pytest.raises(LedgerError) as caught:
            user.finish(purchase)
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
    statuses = {(row["cpv_status"], row["psc_status"]) for row in user.rows()}
    assert (len(user.rows()), statuses) == (len(TEXTS), {("ok", "ok")})
    assert user.row_costs() == summary.cost_usd
    asked = Counter(service.asked)
    assert sum(asked.values()) - len(asked) <= some(summary.paid).unconfirmed


@pytest.mark.parametrize("sent", [6, 2 * len(TEXTS)], ids=["in the middle", "at the end"])
def test_an_answer_that_cannot_be_written_is_kept_beside_the_ledger(
    tmp_path: Path, service: Service, monkeypatch: pytest.MonkeyPatch, sent: int
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

    with serving(Meanwhile(service.app(), sent - 1, no_more_writing)) as address:
        terms: dict[str, Any] = {"workers": 1, "on_unconfirmed": "hold"}
        user = buyer(tmp_path, address, service.account.key, **terms)
        user.write(TEXTS)
        said, paid = fails(user)
        assert "readonly" in said
        assert "Make the file and its folder writable" in said
        assert (len(service.asked), paid.unconfirmed) == (sent, 1)
        assert re.search(r"Kept in \S+ledger.db.answers-\w+: 1 answer\.", said)
        assert paid.confirmed_usd < service.charged <= paid.confirmed_usd + paid.at_risk_usd
        finish(user, service)
    assert len(service.asked) == 2 * len(TEXTS)


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


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of a few megabytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("file systems can be mounted by root alone")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def fill(disk: Path) -> None:
    with (disk / "filler").open("wb", buffering=0) as file:
        try:
            while file.write(b"x" * 512):
                pass
        except OSError:
            return


def test_a_disk_that_fills_up_parks_the_run_with_every_answer_written(
    tmp_path: Path, small_disk: Path, service: Service
) -> None:
    ledger = small_disk / "ledger.db"
    texts = [f"text number {number}" for number in range(60)]  # large commits need less space
    with serving(Meanwhile(service.app(), 20, lambda: fill(small_disk))) as address:
        user = buyer(tmp_path, address, service.account.key, ledger=ledger)
        user.write(texts)
        with pytest.raises(LedgerError) as caught:
            user.run()
        assert "Free some space on the disk" in caught.value.hint
        bought = len(service.asked)
        assert 20 <= bought < 2 * len(texts)
        with pytest.raises(LedgerError) as refused:
            user.run()
        assert "full" in refused.value.message
        assert len(service.asked) == bought
        (small_disk / "filler").unlink()
        summary = user.run()
    assert summary.parked is None
    assert some(summary.paid).unconfirmed == 0
    assert summary.cost_usd == service.charged
    assert set(Counter(service.asked).values()) == {1}
