"""A ledger that is moved, replaced, damaged or full, under a run or between two: it is noticed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli.commands import doctor as checks
from pipeline.errors import LedgerError
from pipeline.files.paths import machine_folder
from pipeline.money import plain
from pipeline.paid.ledger.database import Database, Snapshot
from pipeline.paid.ledger.ledger import Ledger
from pipeline.paid.verify import problems
from pipeline.purchases import Paid
from tests.paid.serving import Buyer, Meanwhile, Service, buyer, serving, some

TEXTS = [f"text number {number:02}" for number in range(10)]


def rename(ledger: Path) -> None:
    ledger.rename(ledger.with_name("old.db"))


def delete(ledger: Path) -> None:
    ledger.unlink()


def delete_all(ledger: Path) -> None:
    for file in ledger.parent.glob("ledger.db*"):
        shutil.rmtree(file) if file.is_dir() else file.unlink()


def replace_file(ledger: Path) -> None:
    new = ledger.with_name("new.db")
    new.write_bytes(b"another file")
    new.replace(ledger)


def rename_folder(ledger: Path) -> None:
    ledger.parent.rename(ledger.parent.with_name("elsewhere"))


def delete_folder(ledger: Path) -> None:
    while ledger.parent.exists():  # the run may put a lock file back meanwhile
        shutil.rmtree(ledger.parent, ignore_errors=True)


@pytest.mark.parametrize("number", [5, 2 * len(TEXTS) - 1], ids=["in the middle", "at the end"])
@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (rename, "was moved or deleted while it was in use"),
        (delete, "was moved or deleted while it was in use"),
        (delete_all, "was moved or deleted while it was in use"),
        (replace_file, "was replaced by another file while it was in use"),
        (rename_folder, "was moved or deleted while it was in use"),
        (delete_folder, "was moved or deleted while it was in use"),
    ],
)
def test_it_is_noticed_and_what_was_bought_is_kept(
    tmp_path: Path,
    service: Service,
    spoil: Callable[[Path], None],
    said: str,
    number: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    ledger = tmp_path / "ledgers" / "ledger.db"
    with serving(Meanwhile(service.app(), number, lambda: spoil(ledger))) as address:
        user = buyer(tmp_path, address, service.account.key, ledger=ledger)
        user.write(TEXTS)
        with pytest.raises(LedgerError, match=said) as caught:
            user.run()
        assert caught.value.exit_code == 8
        assert f"This job has paid {plain(service.charged)} USD so far." in caplog.text
        assert "is kept" not in caplog.text, "only the error knows that"
        assert not user.output.exists()
        assert number < len(service.asked) <= number + 1 + user.service.workers
        hint = re.search(r"ove (/\S+) to (/\S+), then run the same command", caught.value.hint)
        assert hint is not None, caught.value
        assert ("Remove the file that is there now" in caught.value.hint) == ledger.exists()
        kept, place = map(Path, hint.groups())
        assert place == ledger
        place.parent.mkdir(exist_ok=True)
        kept.rename(place)
        summary = user.run()
    assert summary.parked is None
    assert summary.cost_usd == service.charged
    assert set(Counter(service.asked).values()) == {1}


@pytest.mark.parametrize("name", ["ledger.db-wal", "ledger.db-shm"])
def test_a_log_that_is_deleted_is_noticed_before_a_kill_could_lose_what_is_in_it(
    tmp_path: Path, service: Service, name: str
) -> None:
    ledger = tmp_path / "ledgers" / "ledger.db"
    spoil = ledger.with_name(name).unlink
    with serving(Meanwhile(service.app(), 5, spoil)) as address:
        user = buyer(tmp_path, address, service.account.key, ledger=ledger)
        user.write(TEXTS)
        with pytest.raises(LedgerError, match=f"lost its file {name} while") as caught:
            user.run()
        assert "Everything bought is in the ledger itself now" in caught.value.message
        assert 5 < len(service.asked) <= 6 + user.service.workers
        summary = user.run()
    assert summary.cost_usd == service.charged
    assert set(Counter(service.asked).values()) == {1}


@pytest.mark.parametrize("spoil", [rename, lambda ledger: Path(f"{ledger}-wal").unlink()])
def test_what_a_reader_keeps_out_of_the_file_is_in_a_copy(
    tmp_path: Path, spoil: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ledger.db"
    monkeypatch.setattr("pipeline.paid.ledger.database.PATIENCE_S", 0.01)
    with closing(Ledger(path, "http://service.example")) as ledger, Snapshot(path):
        ledger.open_job("tenders")
        spoil(path)
        with pytest.raises(LedgerError, match=r"Everything bought is in \S+rescued-1\."):
            ledger.database.check_place()
        with Snapshot(path.with_name("ledger.db.rescued-1")) as copy:
            assert copy.one("SELECT identity FROM jobs") == ("tenders",)


def test_it_is_noticed_once_the_table_is_written(tmp_path: Path) -> None:
    the = buyer(tmp_path, "https://service.example", "key")
    with the.open() as purchase:
        rename(the.service.ledger)
        with pytest.raises(LedgerError, match="was moved or deleted while it was in use"):
            purchase.close_job()


def empty(ledger: Path) -> None:
    ledger.write_bytes(b"")


@pytest.mark.parametrize("spoil", [rename, delete, empty])
def test_between_two_runs_no_new_ledger_is_begun_unasked(
    tmp_path: Path, service: Service, spoil: Callable[[Path], None], address: str
) -> None:
    ledger = tmp_path / "ledgers" / "ledger.db"
    the = buyer(tmp_path, address, service.account.key, ledger=ledger)
    the.write(TEXTS)
    the.run()
    bought = len(service.asked)
    spoil(ledger)
    for use in (the.plan, the.run, lambda: Snapshot(ledger)):
        with pytest.raises(LedgerError, match=r"is \w+: .* ledger\.db\.locks") as caught:
            use()
        assert f"rm -r {ledger}.locks" in caught.value.hint
        assert not ledger.exists() or not ledger.read_bytes()
    assert len(service.asked) == bought
    shutil.rmtree(f"{ledger}.locks")
    the.run()
    assert len(service.asked) == 2 * bought


def test_a_run_that_cannot_make_its_ledger_leaves_no_sign_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    the = buyer(tmp_path, "https://service.example", "key")
    with monkeypatch.context() as patched:
        patched.setattr("pipeline.paid.ledger.database.has_log", lambda *_: False)
        with pytest.raises(LedgerError, match="not on a local disk"):
            the.open()
    the.service.ledger.unlink(missing_ok=True)
    with the.open():
        assert the.service.ledger.exists()


def test_a_copy_of_a_deleted_ledger_does_not_write_over_another(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with closing(Ledger(path, "http://service.example")) as ledger:
        path.with_name("ledger.db.rescued-1").write_text("kept")
        path.unlink()
        for _ in range(2):
            with pytest.raises(LedgerError, match="rescued-2"):
                ledger.database.check_place()
    assert path.with_name("ledger.db.rescued-1").read_text() == "kept"
    assert not path.with_name("ledger.db.rescued-3").exists()


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


def test_where_no_copy_can_be_made_it_says_that_all_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folder"
    nowhere = "pipeline.paid.ledger.database.machine_folder"
    with closing(Ledger(folder / "ledger.db", "http://service.example")) as ledger:
        shutil.rmtree(folder)
        monkeypatch.setattr(nowhere, lambda: tmp_path / "nowhere")
        with pytest.raises(LedgerError, match=r"is lost: .*No such file"):
            ledger.database.check_place()


MANY = [f"text number {number:02}" for number in range(30)]


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
    assert (len(user.rows()), statuses) == (len(MANY), {("ok", "ok")})
    assert user.row_costs() == summary.cost_usd
    asked = Counter(service.asked)
    assert sum(asked.values()) - len(asked) <= some(summary.paid).unconfirmed


@pytest.mark.parametrize("sent", [6, 2 * len(MANY)], ids=["in the middle", "at the end"])
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
        user.write(MANY)
        said, paid = fails(user)
        assert "readonly" in said
        assert "Make the file and its folder writable" in said
        assert (len(service.asked), paid.unconfirmed) == (sent, 1)
        assert re.search(r"Kept in \S+ledger.db.answers-\w+: 1 answer\.", said)
        assert paid.confirmed_usd < service.charged <= paid.confirmed_usd + paid.at_risk_usd
        finish(user, service)
    assert len(service.asked) == 2 * len(MANY)


def test_a_ledger_that_is_damaged_is_an_error_before_anything_is_sent(
    user: Buyer, service: Service
) -> None:
    user.write(MANY)
    user.run()
    user.write([*MANY, "another text"])
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
