from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from pipeline.errors import LedgerError
from pipeline.paid.ledger import schema
from pipeline.paid.ledger.database import Snapshot
from pipeline.paid.ledger.job import Job
from pipeline.paid.ledger.journal import Journal
from pipeline.paid.ledger.ledger import Ledger
from tests.paid.ledger.buying import buy, send

VERSION_1 = Path(__file__).with_name("version_1.sql").read_text("utf-8")

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


def refusal(path: Path) -> LedgerError:
    with pytest.raises(LedgerError) as caught:
        Snapshot(path)
    assert caught.value.exit_code == 8
    return caught.value


def test_a_ledger_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    error = refusal(tmp_path / "folder" / "ledger.db")
    assert error.message.startswith("There is no ledger ")
    assert "--ledger" in error.hint
    assert list(tmp_path.iterdir()) == []


def test_an_empty_file_stays_empty(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    assert "not a ledger yet" in refusal(path).message
    assert path.read_bytes() == b""


def test_a_file_of_another_kind_is_refused(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"description\nroad\n" * 100)
    error = refusal(path)
    assert "not a database" in error.message
    assert error.hint.startswith("Check the path")
    assert path.read_bytes() == b"description\nroad\n" * 100


def test_a_folder_in_the_ledgers_place_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path).message == f"{tmp_path} is not a file."


def test_a_ledger_of_a_newer_version_is_refused(path: Path, ledger: Ledger) -> None:
    with closing(sqlite3.connect(path)) as newer, newer:
        newer.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    assert refusal(path).hint.startswith("Update tender-pipeline")


def test_a_damaged_ledger_says_so(path: Path, ledger: Ledger, journal: Journal) -> None:
    for _ in range(200):
        send(journal)
    ledger.close()
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (path.stat().st_size - 4096))
    with Snapshot(path) as snapshot, pytest.raises(LedgerError) as caught:
        list(snapshot.rows("SELECT * FROM attempts"))
    assert caught.value.hint.startswith("Restore it from a copy")


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


def test_a_ledger_of_version_1_is_read_and_not_migrated(path: Path) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as old:
        old.execute("PRAGMA journal_mode = WAL")
        old.executescript(VERSION_1)
    before = path.read_bytes()
    with Snapshot(path) as snapshot:
        assert snapshot.one(COUNT) == (0,)
    assert path.read_bytes() == before


def test_a_link_to_a_ledger_is_that_ledger(path: Path, journal: Journal, tmp_path: Path) -> None:
    buy(journal)
    link = tmp_path / "link.db"
    link.symlink_to(path)
    with Snapshot(link) as snapshot:
        assert snapshot.one(COUNT) == (1,)
        assert snapshot.size > path.stat().st_size  # the log is beside the file itself


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_ledger_in_a_folder_that_may_not_be_written_is_read(
    path: Path, ledger: Ledger, job: Job
) -> None:
    ledger.close()
    path.parent.chmod(0o500)
    with Snapshot(path) as snapshot:
        assert snapshot.one("SELECT count(*) FROM jobs") == (1,)
    assert list(path.parent.iterdir()) == [path]
