"""A ledger that is replaced by an older copy of it is noticed before anything is bought again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.cli.commands import doctor as checks
from pipeline.errors import LedgerError
from pipeline.files.paths import machine_folder
from pipeline.paid.ledger.database import Snapshot
from pipeline.paid.verify import problems
from tests.paid.serving import Buyer, Service

BACKED_UP, LATER = ["first text"], ["second text", "third text"]

Night = Callable[[list[str]], Buyer]


def restore_file(backup: Path, ledger: Path) -> None:
    shutil.copy(backup / ledger.name, ledger)


def restore_folder(backup: Path, ledger: Path) -> None:
    shutil.rmtree(ledger.parent)
    shutil.copytree(backup, ledger.parent)


def on_new_disk(backup: Path, ledger: Path) -> None:
    shutil.rmtree(ledger.parent)
    ledger.parent.mkdir()
    restore_file(backup, ledger)


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    return tmp_path / "backup"


@pytest.fixture
def night(tmp_path: Path, user: Buyer) -> Night:
    """Returns a buyer with another output each night, and the ledger of all nights."""

    def of(texts: list[str]) -> Buyer:
        folder = tmp_path / f"night {len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        of_folder = replace(user, folder=folder).but(ledger=tmp_path / "ledgers" / "l.db")
        of_folder.write(texts)
        return of_folder

    return of


@pytest.fixture
def ledger(tmp_path: Path, night: Night, backup: Path) -> Path:
    """What was bought on two nights, with a backup in between."""
    night(BACKED_UP).run()
    shutil.copytree(tmp_path / "ledgers", backup)
    user = night(BACKED_UP + LATER)
    user.run()
    return user.service.ledger


@pytest.mark.parametrize("restore", [restore_file, restore_folder, on_new_disk])
def test_an_older_copy_is_refused_until_the_newer_one_is_back(
    ledger: Path,
    night: Night,
    service: Service,
    backup: Path,
    restore: Callable[[Path, Path], None],
) -> None:
    newer, asked = ledger.read_bytes(), service.requests
    restore(backup, ledger)
    user = night(BACKED_UP + LATER)
    for use in (user.plan, user.run):
        with pytest.raises(LedgerError) as caught:
            use()
        assert caught.value.exit_code == 8
        assert caught.value.message.startswith(f"The ledger {ledger} is an older copy: it lacks")
        assert "the 4 attempts that were recorded in it" in caught.value.message
    assert night(BACKED_UP).run().parked is None, "none is bought"
    ledger.write_bytes(newer)
    assert user.run().parked is None
    assert service.requests == asked


def test_verify_and_doctor_say_so_too(ledger: Path, backup: Path) -> None:
    assert checks.check_ledger(ledger, 1).verdict == "ok"
    restore_file(backup, ledger)
    finding = checks.check_ledger(ledger, 1)
    assert (finding.verdict, "older copy" in finding.found) == ("error", True)
    assert "rm " in finding.remedy
    with Snapshot(ledger) as snapshot:
        (problem,) = problems(snapshot)
    assert problem == f"{finding.found} {finding.remedy}"


def test_a_run_that_buys_meanwhile_makes_no_snapshot_an_older_copy(night: Night) -> None:
    user = night(BACKED_UP)
    user.run()
    with Snapshot(user.service.ledger) as snapshot:
        night(LATER).run()
        assert list(problems(snapshot)) == []


def test_another_ledger_a_copy_elsewhere_and_a_moved_one_are_no_older_copies(
    tmp_path: Path, ledger: Path, night: Night, backup: Path
) -> None:
    elsewhere = tmp_path / "elsewhere.db"
    shutil.copy(backup / ledger.name, elsewhere)
    user = night(LATER)
    assert user.but(ledger=elsewhere).plan().to_buy == 4
    moved = tmp_path / "moved"
    ledger.parent.rename(moved)
    assert user.but(ledger=moved / ledger.name).plan().to_buy == 0
    assert user.run().parked is None, "a new ledger"
    shutil.rmtree(ledger.parent)
    moved.rename(ledger.parent)
    assert user.plan().to_buy == 0


@pytest.mark.parametrize(
    "spoilt", [b"", b"{", b"[1]", b'{"path": "x", "last_attempt": "9", "sent_at": 1}']
)
def test_a_mark_that_cannot_be_read_stops_nothing(
    ledger: Path, night: Night, spoilt: bytes
) -> None:
    files = (machine_folder() / "ledgers").iterdir()
    (mark,) = (file for file in files if json.loads(file.read_text())["path"] == str(ledger))
    mark.write_bytes(spoilt)
    assert night([*LATER, "a new text"]).run().parked is None
