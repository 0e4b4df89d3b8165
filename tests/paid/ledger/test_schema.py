"""Ledgers of earlier versions: what was paid for is kept, whatever this tool became since."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from decimal import Decimal
from functools import partial
from pathlib import Path

import pytest

from pipeline.errors import LedgerError
from pipeline.paid.ledger import schema
from pipeline.paid.ledger.calls import Owned, PastAttempt
from pipeline.paid.ledger.database import Snapshot
from pipeline.paid.ledger.ledger import Ledger
from tests.paid.ledger.buying import BASE_URL, FINGERPRINT, PRICE, ROAD_DIGEST, Clock, note, settle

VERSION_1 = Path(__file__).with_name("version_1.sql").read_text("utf-8")


@pytest.fixture
def old(path: Path) -> Iterator[sqlite3.Connection]:
    """A ledger as version 1 made it: an answer, a lost answer and an attempt under way."""
    path.parent.mkdir()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(VERSION_1)
        connection.execute("INSERT INTO jobs VALUES (1, ?, 'tenders', 900.0, NULL)", (BASE_URL,))
        connection.execute("INSERT INTO first_rows VALUES (1, 'cpv', ?, 0)", (ROAD_DIGEST,))
        connection.executemany(
            "INSERT INTO attempts VALUES (?1, 1, 'cpv', ?2, ?3, 900.0 + ?1, "
            "'0.0003', ?4, ?5, ?6, ?7, ?8)",
            [
                (1, ROAD_DIGEST, FINGERPRINT, "unconfirmed", 902.0, "TIMEOUT", None, None),
                (2, ROAD_DIGEST, FINGERPRINT, "answered", 903.0, None, str(PRICE), 200),
                (3, b"bridge", FINGERPRINT, "sent", None, None, None, None),
            ],
        )
        connection.execute("INSERT INTO bodies VALUES (2, ?)", (zlib.compress(b"paid for"),))
        yield connection


def tables(path: Path) -> list[tuple[object, ...]]:
    """Return every column and index of a file."""
    with closing(sqlite3.connect(path)) as connection:
        names = connection.execute("SELECT name, type FROM sqlite_master ORDER BY name").fetchall()
        columns = [
            (name, *column)
            for name, kind in names
            for column in connection.execute(f"PRAGMA {kind}_info({name})")
        ]
        return [*names, *columns, *connection.execute("PRAGMA user_version")]


def test_a_ledger_of_version_1_is_brought_up_to_date_with_all_that_is_in_it(
    path: Path, old: sqlite3.Connection, clock: Clock
) -> None:
    old.close()
    ledger = Ledger(path, BASE_URL, clock)
    job = ledger.find_job("tenders")
    assert job is not None
    assert (job.number, job.opened_at) == (1, 900.0)
    assert job.responses("cpv", [ROAD_DIGEST]) == {ROAD_DIGEST: Owned(200, b"paid for", PRICE)}
    assert job.first_rows("cpv", [ROAD_DIGEST]) == {ROAD_DIGEST: 0}
    money = job.money()
    assert (money.attempts, money.confirmed, money.unconfirmed) == (3, PRICE, 2)
    assert money.at_risk == Decimal("0.0006")
    assert ledger.attempts_since(FINGERPRINT, 902.0) == [
        PastAttempt(902.0, "unconfirmed"),
        PastAttempt(903.0, "answered"),
        PastAttempt(None, "sent"),
    ]
    assert ledger.last_refusal(FINGERPRINT) is None
    settle(path, {1: Decimal("0.0001")})
    assert ledger.recover(FINGERPRINT) == 1
    ledger.close()


def test_a_migrated_ledger_is_like_a_new_one(
    path: Path, old: sqlite3.Connection, tmp_path: Path
) -> None:
    old.close()
    new = tmp_path / "new.db"
    for each in (path, new):
        Ledger(each, BASE_URL).close()
    assert tables(path) == tables(new)


def test_a_migration_that_breaks_off_leaves_the_ledger_as_it_was(
    path: Path, old: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tables(path)
    monkeypatch.setitem(schema.MIGRATIONS, 1, f"{schema.MIGRATIONS[1]}\nNO SQL")
    with pytest.raises(LedgerError):
        Ledger(path, BASE_URL)
    assert tables(path) == before
    monkeypatch.undo()
    Ledger(path, BASE_URL).close()
    assert tables(path)[-1] == (schema.VERSION,)


@pytest.mark.parametrize("open_file", [partial(Ledger, base_url=BASE_URL), Snapshot])
def test_a_newer_version_is_refused_and_left_alone(
    path: Path, open_file: Callable[[Path], object]
) -> None:
    Ledger(path, BASE_URL).close()
    with closing(sqlite3.connect(path)) as newer:
        newer.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    before = tables(path)
    with pytest.raises(LedgerError, match="newer version") as caught:
        open_file(path)
    assert caught.value.hint.startswith("Update tender-pipeline")
    assert tables(path) == before


def test_a_program_of_version_1_that_has_it_open_goes_on(
    path: Path, old: sqlite3.Connection
) -> None:
    ledger = Ledger(path, BASE_URL)
    old.execute(
        "INSERT INTO attempts (job_id, system, digest, account, sent_at, reserved_usd, state) "
        "VALUES (1, 'cpv', x'00', 'key', 904.0, '0.0003', 'sent')"
    )
    job = ledger.open_job("tenders")
    assert job.money().attempts == 4
    note(job, "road", "bridge")
    assert job.calls().distinct == 2
    ledger.close()
