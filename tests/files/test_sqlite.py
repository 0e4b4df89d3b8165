from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from pipeline.files import sqlite as sqlite_files
from pipeline.files.sqlite import connect, has_log, transaction


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(connect(tmp_path / "file", 0.0)) as opened:
        yield opened


def test_every_commit_is_synced(connection: sqlite3.Connection) -> None:
    full, on = (2,), (1,)
    assert connection.execute("PRAGMA synchronous").fetchone() == full
    assert connection.execute("PRAGMA fullfsync").fetchone() == on
    assert connection.execute("PRAGMA foreign_keys").fetchone() == on


def test_a_log_is_waited_for_while_another_process_makes_the_file(
    tmp_path: Path, connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(connect(tmp_path / "file", 0.0)) as other:
        other.execute("BEGIN IMMEDIATE")
        waited: list[float] = []

        def sleep(seconds: float) -> None:
            waited.append(seconds)
            if len(waited) == 3:
                other.execute("ROLLBACK")

        clock = SimpleNamespace(monotonic=lambda: sum(waited), sleep=sleep)
        monkeypatch.setattr(sqlite_files, "time", clock)
        assert has_log(connection, patience_s=60)
    assert len(waited) == 3
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_log_is_not_waited_for_beyond_the_patience(
    tmp_path: Path, connection: sqlite3.Connection
) -> None:
    with closing(connect(tmp_path / "file", 0.0)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            has_log(connection, patience_s=0)


def test_what_is_in_memory_alone_can_have_no_log() -> None:
    with closing(connect(Path(":memory:"), 0.0)) as connection:
        assert not has_log(connection, patience_s=0)


def test_a_block_is_done_whole_or_not_at_all(connection: sqlite3.Connection) -> None:
    with transaction(connection):
        connection.execute("CREATE TABLE numbers (number INTEGER UNIQUE)")
        connection.execute("INSERT INTO numbers VALUES (1)")
    with pytest.raises(sqlite3.IntegrityError), transaction(connection):
        connection.execute("INSERT INTO numbers VALUES (2)")
        connection.execute("INSERT INTO numbers VALUES (1)")
    assert connection.execute("SELECT number FROM numbers").fetchall() == [(1,)]


def test_an_error_after_which_sqlite_rolled_back_is_raised_as_it_was(
    connection: sqlite3.Connection,
) -> None:
    connection.execute("CREATE TABLE numbers (number INTEGER UNIQUE)")
    connection.execute("INSERT INTO numbers VALUES (1)")
    with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"), transaction(connection):
        connection.execute("INSERT OR ROLLBACK INTO numbers VALUES (1)")
    assert not connection.in_transaction
