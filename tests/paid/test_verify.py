"""A ledger that a real run bought, and then somebody changed something."""

from __future__ import annotations

import shutil
import sqlite3
import time
import zlib
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import pytest

from pipeline.answers import SYSTEMS
from pipeline.errors import LedgerError
from pipeline.paid.ledger.database import Snapshot
from pipeline.paid.ledger.maintenance import prune_by_hand, settle_by_hand
from pipeline.paid.verify import extent, problems
from pipeline.service.accounts import Accounts
from tests.paid.serving import Service, buyer, serving

ERROR = '{"success": false, "error": "VALIDATION_ERROR", "message": "no"}'
SILENT = '{"success": true, "data": [{"code": "1", "title": "a", "confidence": 1}]}'
FOREIGN = (
    '{"success": true, "data": [{"code": "1"}], '
    '"metadata": {"costBreakdown": {"finalCost": 1, "currency": "EUR"}}}'
)

Change = Callable[[str], None]


@pytest.fixture(scope="module")
def bought(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger with attempts of every kind; the first is answered, the second refused, ..."""
    folder = tmp_path_factory.mktemp("bought")
    accounts = Accounts(folder / "service")
    service = Service(accounts, accounts.open(Decimal("5.00")))
    script = {1: (400, ERROR), 2: (200, "<html>"), 3: (200, SILENT), 4: (504, ""), 6: (429, "")}
    service.script = {n: (s, {"retry-after": "0"}, body) for n, (s, body) in script.items()}
    with serving(service.app()) as url:
        user = buyer(folder, url, service.account.key, workers=1)
        user.write([f"text {number}" for number in range(5)])
        user.run()
        service.script = {service.requests: (200, {}, FOREIGN)}
        user.write(["another text"])
        user.run()
    accounts.close()
    return folder / "ledger.db"


@pytest.fixture
def path(bought: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(bought, tmp_path / "ledger.db"))


@pytest.fixture
def change(path: Path) -> Change:
    def execute(statement: str) -> None:
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("PRAGMA ignore_check_constraints = ON")
            connection.execute(statement)

    return execute


def found(path: Path) -> list[str]:
    with Snapshot(path) as snapshot:
        return list(problems(snapshot))


def test_what_a_run_leaves_is_consistent(path: Path) -> None:
    with Snapshot(path) as snapshot:
        states = [state for (state,) in snapshot.rows("SELECT state FROM attempts")]
        assert set(states) == {"answered", "refused", "unreadable", "unconfirmed", "free"}
        read: list[int] = []
        assert list(problems(snapshot, read.append)) == []
        kept = len(states) - states.count("unconfirmed") - states.count("free")
        assert sum(read) == kept
        assert [*extent(snapshot).values()] == [len(states), kept, 0, 0]


def test_it_is_consistent_after_settling_and_pruning(path: Path) -> None:
    with Snapshot(path) as snapshot:
        ((lost,),) = snapshot.rows("SELECT attempt_id FROM attempts WHERE state = 'unconfirmed'")
    settle_by_hand(path, {lost: Decimal("0.0001")}, time.time(), wait=False)
    assert found(path) == []
    pruned, _ = prune_by_hand(path, time.time() + 1, SYSTEMS, wait=False)
    assert pruned > 0
    assert found(path) == []
    with Snapshot(path) as snapshot:
        assert extent(snapshot)["pruned"] == pruned


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE attempts SET cost_usd = '9' WHERE attempt_id = 1", "attempt 1 cost 9 USD, but"),
        ("UPDATE attempts SET cost_usd = NULL WHERE attempt_id = 1", "cost an unknown amount, but"),
        ("UPDATE attempts SET cost_usd = '0.1' WHERE attempt_id = 4", "says an unknown amount"),
        ("UPDATE attempts SET state = 'answered', error = NULL WHERE attempt_id = 3", "unreadable"),
        ("UPDATE attempts SET status = 401 WHERE attempt_id = 1", "its body reads as free"),
        ("DELETE FROM bodies WHERE attempt_id = 1", "attempt 1 has lost the body"),
        ("DELETE FROM bodies WHERE attempt_id = 2", "attempt 2 has lost the body"),
        ("UPDATE bodies SET body = 'text' WHERE attempt_id = 1", "attempt 1 has lost the body"),
        ("UPDATE bodies SET body = x'00' WHERE attempt_id = 1", "cannot be unpack"),
        ("INSERT INTO bodies VALUES (5, x'00')", "attempt 5 is unconfirmed, and has a body"),
        ("INSERT INTO bodies VALUES (99, x'00')", "row 99 of bodies refers to a row of attempts"),
        ("DELETE FROM jobs WHERE job_id = 1", "row 1 of attempts refers to a row of jobs"),
        ("UPDATE attempts SET digest = zeroblob(99)", "\u2026 as its digest"),
        (
            "UPDATE attempts SET settled_at = NULL WHERE attempt_id = 1",
            "answered, with a wrong end",
        ),
        ("UPDATE attempts SET state = 'sent', settled_at = NULL WHERE attempt_id = 1", "a result"),
        ("UPDATE attempts SET status = NULL WHERE attempt_id = 1", "without an HTTP status"),
        ("UPDATE attempts SET error = 'X' WHERE attempt_id = 1", "an answer and has the error X"),
        ("UPDATE attempts SET error = NULL WHERE attempt_id = 5", "failed without an error"),
        ("UPDATE attempts SET cost_usd = '1' WHERE attempt_id = 5", "unconfirmed and has a price"),
        ("UPDATE attempts SET state = 'billed' WHERE attempt_id = 5", "at an unknown price"),
        ("UPDATE attempts SET state = 'pruned' WHERE attempt_id = 1", "is pruned, and has a body"),
    ],
)
def test_whatever_was_changed_is_found_and_named(
    path: Path, change: Change, statement: str, said: str
) -> None:
    change(statement)
    assert any(said in one for one in found(path))


def page(path: Path, name: str) -> tuple[int, int]:
    """Return where the first page of a table or an index is in the file, and its size."""
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT rootpage, page_size FROM sqlite_master, pragma_page_size WHERE name = ?"
        root, size = connection.execute(query, (name,)).fetchone()
    return (root - 1) * size, size


def test_a_flipped_bit_is_found(path: Path) -> None:
    with Snapshot(path) as snapshot:
        (digest,) = snapshot.one("SELECT digest FROM attempts WHERE attempt_id = 1")
    start, size = page(path, "attempts_of_call")
    content = bytearray(path.read_bytes())
    place = content.index(digest, start, start + size)
    content[place] ^= 1
    path.write_bytes(content)
    assert found(path)[0].startswith("the file is damaged: ")


def test_a_lost_page_is_an_error(path: Path) -> None:
    start, size = page(path, "attempts_of_job")
    with path.open("r+b") as file:
        file.seek(start)
        file.write(bytes(size))
    with pytest.raises(LedgerError, match="malformed"):
        found(path)


def test_a_failure_that_a_later_parser_understands_is_not_a_contradiction(path: Path) -> None:
    body = zlib.compress(SILENT.encode())
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE bodies SET body = ? WHERE attempt_id = 3", (body,))
    assert found(path) == []
