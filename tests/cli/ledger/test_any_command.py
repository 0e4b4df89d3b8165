"""What holds for every command: which ledger it opens, of which version, and beside which run."""

from __future__ import annotations

import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pipeline.paid.ledger.ledger import Ledger
from tests.cli.conftest import Capture, Command, figures, lines
from tests.cli.ledger.conftest import place
from tests.forking import until
from tests.paid.ledger.buying import BASE_URL
from tests.paid.serving import Service, Sluice, buyer, serving, started

TESTS = Path(__file__).parents[2]
VERSION_1 = (TESTS / "paid" / "ledger" / "version_1.sql").read_text("utf-8")


@pytest.mark.parametrize(
    "arguments",
    [
        ("show",),
        ("attempts",),
        ("settle", 1, "--not-billed"),
        ("prune", "--older-than", "1d", "--yes"),
        ("verify",),
    ],
)
def test_no_command_makes_a_ledger_or_takes_another_file_for_one(
    command: Command, tmp_path: Path, capsys: Capture, arguments: tuple[object, ...]
) -> None:
    assert command(*arguments) == 8
    assert "There is no ledger ledger.db." in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    place(tmp_path).write_text("description\nroad\n" * 100)
    assert command(*arguments) == 8
    assert "not a database" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.db"]


def test_a_run_that_is_buying_can_be_watched_and_is_not_disturbed(
    command: Command, tmp_path: Path, service: Service, capsys: Capture
) -> None:
    gate = Sluice(service.app(), 7, loses=True)
    with serving(gate) as address:
        user = buyer(tmp_path, address, service.account.key, workers=3)
        user.write([f"text {number}" for number in range(10)])
        run = started(tmp_path, address, service.account.key)
        assert gate.reached.wait(20)

        def sent() -> list[str]:
            assert command("attempts", "--state", "sent", "--json") == 0
            return [one["attempt"] for one in figures(capsys)["attempts"]]

        def job() -> dict[str, Any]:
            assert command("show", "--json") == 0
            (job,) = figures(capsys)["open_jobs"]
            return dict(job)

        # Every worker waits at the gate, and all else is recorded.
        until(lambda: job()["attempts"] == 7 + 3 and len(sent()) == 3)
        under_way = sent()
        assert job()["calls"] == 20
        assert command("verify") == 0
        for arguments in [("prune", "--older-than", "0s", "--yes"), ("settle", under_way[0])]:
            verdict = ["--not-billed"] if arguments[0] == "settle" else []
            assert command(*arguments, *verdict) == 8
            assert "--wait" in capsys.readouterr().err
        os.kill(run.pid, signal.SIGKILL)
        run.wait()
        assert command("verify") == 0
        capsys.readouterr()
        assert command("attempts", "--state", "sent", "--json") == 0
        under_way = [one["attempt"] for one in figures(capsys)["attempts"]]
        assert command("settle", *under_way, "--billed", "0.0001") == 0
        capsys.readouterr()
        assert command("attempts", "--state", "billed", "--json") == 0
        assert [one["attempt"] for one in figures(capsys)["attempts"]] == under_way
        gate.open()
        summary = user.run()
    assert summary.parked is None
    assert summary.paid is not None
    assert summary.paid.unconfirmed == 0
    assert summary.cost_usd == user.row_costs()
    assert command("verify") == 0


@pytest.fixture
def version_1(tmp_path: Path) -> bytes:
    """A ledger as version 1 made it, with an unconfirmed attempt."""
    path = place(tmp_path)
    with closing(sqlite3.connect(path)) as old:
        old.execute("PRAGMA journal_mode = WAL")
        old.executescript(VERSION_1)
        with old:
            old.execute("INSERT INTO jobs VALUES (1, ?, 'tenders', 900.0, NULL)", (BASE_URL,))
            old.execute(
                "INSERT INTO attempts VALUES (1, 1, 'cpv', zeroblob(32), 'key', 901.0, '0.0003', "
                "'unconfirmed', 902.0, 'TIMEOUT', NULL, NULL)"
            )
    return path.read_bytes()


def test_a_ledger_of_an_earlier_version_is_read_as_it_is_and_settled(
    command: Command, tmp_path: Path, version_1: bytes, capsys: Capture
) -> None:
    for reading in (("show",), ("jobs",), ("attempts",), ("verify",)):
        assert command(*reading) == 0
        assert place(tmp_path).read_bytes() == version_1
    assert command("settle", 1, "--not-billed") == 0
    assert "1 settled: not billed" in lines(capsys)


def test_the_ledger_is_the_one_that_run_would_use(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.delenv("TENDER_PIPELINE_LEDGER")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    for name in ("option.db", "variable.db", "file.db"):
        Ledger(tmp_path / name, BASE_URL).close()
    assert command("show") == 8
    assert str(tmp_path / "data" / "tender-pipeline") in capsys.readouterr().err
    (tmp_path / "tender-pipeline.toml").write_text('systems = "cpv"\nledger = "file.db"\n')
    assert command("show") == 0
    assert lines(capsys)[0].startswith("file.db")
    monkeypatch.setenv("TENDER_PIPELINE_LEDGER", "variable.db")
    assert command("show") == 0
    assert lines(capsys)[0].startswith("variable.db")
    assert command("show", "--ledger", "option.db") == 0
    assert lines(capsys)[0].startswith("option.db")
    monkeypatch.delenv("TENDER_PIPELINE_LEDGER")
    (tmp_path / "tender-pipeline.toml").write_text("ledger = 2026")
    assert command("show") == 8
    assert "There is no ledger 2026." in capsys.readouterr().err
    for wrong in ("ledger = ", "ledger = false"):
        (tmp_path / "tender-pipeline.toml").write_text(wrong)
        assert command("show") == 2
