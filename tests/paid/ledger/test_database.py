from __future__ import annotations

import asyncio
import errno
import os
import sqlite3
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from decimal import Decimal
from functools import partial
from pathlib import Path

import pytest

from pipeline.errors import LedgerError
from pipeline.paid.ledger import database, schema
from pipeline.paid.ledger.database import Snapshot
from pipeline.paid.ledger.journal import Journal
from pipeline.paid.ledger.ledger import Ledger, LedgerJob
from pipeline.paid.ledger.schema import Call, Owned, PastAttempt
from tests.paid.ledger.buying import (
    BASE_URL,
    FINGERPRINT,
    PRICE,
    RESERVED,
    ROAD_DIGEST,
    Clock,
    buy,
    note,
    settle,
)

pytestmark = pytest.mark.anyio


def open_ledger(path: Path) -> object:
    return Ledger(path, BASE_URL)


def refusal(path: Path, open_file: Callable[[Path], object] = open_ledger) -> LedgerError:
    with pytest.raises(LedgerError) as caught:
        open_file(path)
    assert caught.value.exit_code == 8
    return caught.value


def make_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("CREATE TABLE people (name TEXT)")


@pytest.mark.parametrize("open_file", [open_ledger, Snapshot], ids=["run", "reader"])
@pytest.mark.parametrize(
    ("make", "said", "hint"),
    [
        (lambda path: path.write_text("road\n" * 999), "is not a database", "Check the path, or "),
        (make_database, "is a database, but not a ledger.", "Name another file: --ledger PATH."),
    ],
)
def test_a_file_of_another_kind_is_refused_and_left_alone(
    path: Path,
    make: Callable[[Path], object],
    said: str,
    hint: str,
    open_file: Callable[[Path], object],
) -> None:
    path.parent.mkdir()
    make(path)
    before = path.read_bytes()
    error = refusal(path, open_file)
    assert said in error.message
    assert error.hint.startswith(hint)
    assert path.read_bytes() == before


def test_a_ledger_that_another_program_holds_is_said_to_be_locked(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "PATIENCE_S", 0.01)
    ledger = Ledger(path, BASE_URL)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerError) as caught:
        ledger.open_job("tenders")
    assert "locked" in caught.value.message
    assert caught.value.hint.startswith("End the program that holds it")
    Ledger(path, BASE_URL).close()  # opening and reading go on meanwhile
    holder.execute("ROLLBACK")
    holder.close()
    assert ledger.open_job("tenders").number == 1
    ledger.close()


def test_a_folder_that_may_not_be_made_is_named(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", denied)
    assert refusal(path).hint.startswith("Make the file and its folder writable")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_file_is_named(path: Path, ledger: Ledger) -> None:
    ledger.close()
    path.chmod(0o400)
    reading = Ledger(path, BASE_URL)
    with pytest.raises(LedgerError) as caught:
        reading.open_job("tenders")
    assert caught.value.hint.startswith("Make the file and its folder writable")
    reading.close()


def test_a_ledger_cannot_be_held_in_memory_only() -> None:
    assert refusal(Path(":memory:")).hint == "Name a ledger on a local disk: --ledger PATH."


def test_a_closed_ledger_is_an_error_and_not_a_crash(ledger: Ledger, job: LedgerJob) -> None:
    ledger.close()
    with pytest.raises(LedgerError, match="closed"):
        job.money()


def test_many_may_make_the_same_ledger_at_once(tmp_path: Path) -> None:
    def number(path: Path) -> int:
        ledger = Ledger(path, BASE_URL)
        try:
            return ledger.open_job("tenders").number
        finally:
            ledger.close()

    for attempt in range(10):
        with ThreadPoolExecutor(8) as threads:
            found = list(threads.map(number, [tmp_path / f"{attempt}.sqlite"] * 8))
        assert found == [1] * 8


def test_a_ledger_with_a_second_hard_link_is_refused(path: Path, ledger: Ledger) -> None:
    ledger.close()
    link = path.with_name("other.db")
    link.hardlink_to(path)
    for name in (path, link):
        with pytest.raises(LedgerError, match=r"has 2 names \(hard links\)") as caught:
            Ledger(name, BASE_URL)
    assert "Delete all names but one" in caught.value.hint
    link.unlink()
    Ledger(path, BASE_URL).close()


async def test_two_journals_write_to_one_file(path: Path, ledger: Ledger, job: LedgerJob) -> None:
    other = Ledger(path, "http://localhost:8000")
    second = Journal(other.open_job("others"), "key-2")
    first = Journal(job, "key-1")
    texts = [Call("cpv", str(number)) for number in range(50)]
    pairs = [(journal, call) for call in texts for journal in (first, second)]
    await asyncio.gather(*(journal.record_attempt(call, RESERVED) for journal, call in pairs))
    assert (job.money().attempts, other.open_job("others").money().attempts) == (50, 50)
    other.close()


COUNT = "SELECT count(*) FROM attempts"

KILLED = """
import os, signal, sys
from pathlib import Path
from pipeline.paid.ledger.journal import Journal
from pipeline.paid.ledger.ledger import Ledger
from tests.paid.ledger.buying import FINGERPRINT, BASE_URL, buy, send
job = Ledger(Path(sys.argv[1]), BASE_URL).open_job("tenders")
buy(Journal(job, FINGERPRINT))
send(Journal(job, FINGERPRINT))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_an_empty_file_stays_empty(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    assert "not a ledger yet" in refusal(path, Snapshot).message
    assert path.read_bytes() == b""


@pytest.mark.parametrize("open_file", [open_ledger, Snapshot], ids=["run", "reader"])
def test_a_folder_in_the_ledgers_place_is_refused(
    tmp_path: Path, open_file: Callable[[Path], object]
) -> None:
    assert refusal(tmp_path, open_file).message == f"{tmp_path} is not a file."


@pytest.mark.parametrize("open_file", [open_ledger, Snapshot], ids=["run", "reader"])
@pytest.mark.parametrize("name", ["loop", "a\0b"])
def test_a_path_that_no_file_can_have_is_refused(
    tmp_path: Path, name: str, open_file: Callable[[Path], object]
) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    refusal(tmp_path / name, open_file)


def test_it_shows_one_moment_while_a_run_goes_on_writing(path: Path, journal: Journal) -> None:
    buy(journal)
    with Snapshot(path) as snapshot:
        buy(journal)  # neither waits for the other
        assert snapshot.one(COUNT) == (1,)
        assert snapshot.one(COUNT) == (1,)
    with Snapshot(path) as snapshot:
        assert snapshot.one(COUNT) == (2,)


def test_nothing_can_be_changed(path: Path, journal: Journal) -> None:
    buy(journal)
    with Snapshot(path) as snapshot, pytest.raises(LedgerError, match="readonly"):
        list(snapshot.rows("DELETE FROM attempts"))


def test_what_a_killed_run_left_is_read_and_left_as_it_is(path: Path) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert killed.returncode == -9
    log = path.with_name(f"{path.name}-wal")
    before = path.read_bytes(), log.read_bytes()
    assert before[1]  # only there is what was bought
    with Snapshot(path) as snapshot:
        found = list(snapshot.rows("SELECT state FROM attempts ORDER BY attempt_id"))
        assert snapshot.size == len(before[0]) + len(before[1])
    assert found == [("answered",), ("sent",)]
    assert (path.read_bytes(), log.read_bytes()) == before


def test_a_link_to_a_ledger_is_that_ledger(path: Path, journal: Journal, tmp_path: Path) -> None:
    buy(journal)
    link = tmp_path / "link.db"
    link.symlink_to(path)
    with Snapshot(link) as snapshot:
        assert snapshot.one(COUNT) == (1,)
        assert snapshot.size > path.stat().st_size  # the log is beside the file itself


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_ledger_in_a_folder_that_may_not_be_written_is_read(
    path: Path, ledger: Ledger, job: LedgerJob
) -> None:
    ledger.close()
    path.parent.chmod(0o500)
    with Snapshot(path) as snapshot:
        assert snapshot.one("SELECT count(*) FROM jobs") == (1,)
    assert list(path.parent.iterdir()) == [path]


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
