"""A ledger that is replaced by an older copy of it is noticed before anything is bought again."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import pipeline
from pipeline.cli.commands import doctor as checks
from pipeline.errors import LedgerError
from pipeline.files.paths import machine_folder
from pipeline.paid.ledger.database import Snapshot
from pipeline.paid.service import PaidService
from pipeline.paid.verify import problems
from tests.paid.serving import Buyer, Service, buyer, serving

BACKED_UP, LATER = ["first text"], ["second text", "third text"]


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


def of_night(tmp_path: Path, address: str, service: Service, texts: list[str]) -> Buyer:
    """Return a buyer with another output each night, and the ledger of all nights."""
    folder = tmp_path / f"night {len(list(tmp_path.iterdir()))}"
    folder.mkdir()
    ledger = tmp_path / "ledgers" / "l.db"
    user = buyer(folder, address, service.account.key, ledger=ledger, workers=1)
    user.write(texts)
    return user


def bought(tmp_path: Path, address: str, service: Service, backup: Path) -> Path:
    """Buy on two nights, with a backup in between; return the ledger."""
    of_night(tmp_path, address, service, BACKED_UP).run()
    shutil.copytree(tmp_path / "ledgers", backup)
    user = of_night(tmp_path, address, service, BACKED_UP + LATER)
    user.run()
    return user.service.ledger


@pytest.mark.parametrize("restore", [restore_file, restore_folder, on_new_disk])
def test_an_older_copy_is_refused_until_the_newer_one_is_back(
    tmp_path: Path, service: Service, backup: Path, restore: Callable[[Path, Path], None]
) -> None:
    with serving(service.app()) as address:
        ledger = bought(tmp_path, address, service, backup)
        newer, asked = ledger.read_bytes(), len(service.asked)
        restore(backup, ledger)
        user = of_night(tmp_path, address, service, BACKED_UP + LATER)
        for use in (user.plan, user.run):
            with pytest.raises(LedgerError) as caught:
                use()
            assert caught.value.exit_code == 8
            assert caught.value.message.startswith(
                f"The ledger {ledger} is an older copy: it lacks"
            )
            assert "the 4 attempts that were recorded in it" in caught.value.message
        assert of_night(tmp_path, address, service, BACKED_UP).run().parked is None, (
            "none is bought"
        )
        ledger.write_bytes(newer)
        assert user.run().parked is None
        assert len(service.asked) == asked


def test_verify_and_doctor_say_so_too(tmp_path: Path, service: Service, backup: Path) -> None:
    with serving(service.app()) as address:
        ledger = bought(tmp_path, address, service, backup)
    assert checks.check_ledger(ledger, 1).verdict == "ok"
    restore_file(backup, ledger)
    finding = checks.check_ledger(ledger, 1)
    assert (finding.verdict, "older copy" in finding.found) == ("error", True)
    assert "rm " in finding.remedy
    with Snapshot(ledger) as snapshot:
        (problem,) = problems(snapshot)
    assert problem == f"{finding.found} {finding.remedy}"


def test_a_run_that_buys_meanwhile_makes_no_snapshot_an_older_copy(
    tmp_path: Path, service: Service
) -> None:
    with serving(service.app()) as address:
        user = of_night(tmp_path, address, service, BACKED_UP)
        user.run()
        with Snapshot(user.service.ledger) as snapshot:
            of_night(tmp_path, address, service, LATER).run()
            assert list(problems(snapshot)) == []


def test_the_output_of_a_restored_ledger_is_named(
    tmp_path: Path, service: Service, backup: Path
) -> None:
    """Its manifest names the newer ledger, too: the advice for each is enough."""
    table, output = tmp_path / "in.csv", tmp_path / "out.csv"
    with serving(service.app()) as address:
        terms = PaidService(address, service.account.key, ledger=tmp_path / "l.db", rate="none")
        for texts in (BACKED_UP, BACKED_UP + LATER):
            table.write_text("\n".join(["description", *texts]))
            pipeline.classify(table, systems="cpv", output=output, service=terms)
            backup.mkdir(exist_ok=True)
            shutil.copy(terms.ledger, backup / f"{len(texts)}.db")
        shutil.copy(backup / "1.db", terms.ledger)
        table.write_text("\n".join(["description", *LATER, "new"]))
        buy = partial(pipeline.classify, table, systems="cpv", output=output, service=terms)
        with pytest.raises(LedgerError) as caught:
            buy()
        subprocess.run(shlex.split(caught.value.hint.partition("newer one: ")[2]), check=True)
        with pytest.raises(LedgerError, match=f"answers for {output} were bought with"):
            buy()
        for old in tmp_path.glob("out.csv*"):
            old.unlink()
        buy()


def test_another_ledger_a_copy_elsewhere_and_a_moved_one_are_no_older_copies(
    tmp_path: Path, service: Service, backup: Path
) -> None:
    with serving(service.app()) as address:
        ledger = bought(tmp_path, address, service, backup)
        elsewhere = tmp_path / "elsewhere.db"
        shutil.copy(backup / ledger.name, elsewhere)
        user = of_night(tmp_path, address, service, LATER)
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
    tmp_path: Path, service: Service, backup: Path, spoilt: bytes
) -> None:
    with serving(service.app()) as address:
        ledger = bought(tmp_path, address, service, backup)
        marks = [
            file
            for file in (machine_folder() / "ledgers").iterdir()
            if json.loads(file.read_text())["path"] == str(ledger)
        ]
        assert len(marks) == 1
        marks[0].write_bytes(spoilt)
        assert of_night(tmp_path, address, service, [*LATER, "a new text"]).run().parked is None
