"""No request leaves before its attempt is on the disk: each commit is synced, and comes first."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pipeline.answers import System
from pipeline.paid.client.outcomes import Reply
from pipeline.paid.ledger.calls import Call
from pipeline.paid.ledger.ledger import Ledger
from tests.paid.ledger.buying import BASE_URL
from tests.paid.model_server import ModelServer, buy, numbered

FULL = 2
"""SQLite syncs its log at every commit; at 1 only now and then, at 0 never."""

connect = sqlite3.connect


class Spy(sqlite3.Connection):
    """Notes at each commit how it was made."""

    commits: list[tuple[int, str]]

    def execute(self, sql: str, *more: Any) -> sqlite3.Cursor:
        done = super().execute(sql, *more)
        if sql.strip().upper() in ("COMMIT", "END"):
            self.commits.append((self._asked("synchronous"), self._asked("journal_mode")))
        return done

    def commit(self) -> None:
        self.execute("COMMIT")

    def _asked(self, pragma: str) -> Any:
        return super().execute(f"PRAGMA {pragma}").fetchone()[0]


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[int, str]]]:
    Spy.commits = []
    spied = lambda *a, **how: connect(*a, **how, factory=Spy)  # noqa: E731 - a stand-in
    monkeypatch.setattr("pipeline.paid.ledger.database.sqlite3.connect", spied)
    yield Spy.commits


class Auditor(ModelServer):
    """Looks into the ledger's file, as another process would, at the moment of each request."""

    def __init__(self, path: Path, script: list[str]) -> None:
        super().__init__(script)
        self._path = path
        self.sent: Counter[Call] = Counter()
        self.unwritten: list[Call] = []

    async def send(self, system: System, text: str, candidates: object = ()) -> Reply:
        call = Call(system, text)
        self.sent[call] += 1
        with closing(connect(self._path)) as ledger:
            (written,) = ledger.execute(
                "SELECT count(*) FROM attempts WHERE system = ? AND digest = ?",
                (call.system, call.digest),
            ).fetchone()
        if written < self.sent[call]:
            self.unwritten.append(call)
        return await super().send(system, text)


def test_every_attempt_is_committed_and_synced_before_it_is_sent(
    tmp_path: Path, commits: list[tuple[int, str]]
) -> None:
    path = tmp_path / "ledger.db"
    ledger = Ledger(path, BASE_URL)
    server = Auditor(path, ["detailed", "503", "lost", "limited", "not sent", "refused"])
    job = ledger.open_job("job")
    made_before = len(commits)
    buy(server, job, numbered(60), workers=8)
    ledger.close()
    assert server.unwritten == []
    assert server.sent.total() == 60 + 4
    assert len(commits) > made_before, "nothing was seen of the commits"
    assert set(commits) == {(FULL, "wal")}
