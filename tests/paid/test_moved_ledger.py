"""A ledger that is moved, deleted or replaced, under a run or between two: it is noticed."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from decimal import Decimal
from functools import partial
from pathlib import Path

import pytest

import pipeline
from pipeline.errors import LedgerError, ParkedError
from pipeline.money import plain
from pipeline.paid.ledger import Ledger
from pipeline.paid.ledger.snapshot import Snapshot
from pipeline.paid.purchase import Purchase
from pipeline.paid.service import PaidService
from tests.forking import ran
from tests.paid.meanwhile import Meanwhile
from tests.paid.serving import Service, buyer, serving

TEXTS = [f"text number {number:02}" for number in range(10)]


def rename(ledger: Path) -> None:
    ledger.rename(ledger.with_name("old.db"))


def delete(ledger: Path) -> None:
    ledger.unlink()


def delete_all(ledger: Path) -> None:
    for file in ledger.parent.glob("ledger.db*"):
        shutil.rmtree(file) if file.is_dir() else file.unlink()


def replace(ledger: Path) -> None:
    new = ledger.with_name("new.db")
    Ledger(new, "http://elsewhere.example").close()
    new.replace(ledger)


def rename_folder(ledger: Path) -> None:
    ledger.parent.rename(ledger.parent.with_name("elsewhere"))


def delete_folder(ledger: Path) -> None:
    shutil.rmtree(ledger.parent)


@pytest.mark.parametrize("number", [5, 2 * len(TEXTS) - 1], ids=["in the middle", "at the end"])
@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (rename, "was moved to .*old.db while it was in use"),
        (delete, "was deleted while it was in use"),
        (delete_all, "was deleted while it was in use"),
        (replace, "was replaced by another file while it was in use"),
        (rename_folder, "was moved to .*elsewhere/ledger.db while it was in use"),
        (delete_folder, "was deleted while it was in use"),
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


def empty(ledger: Path) -> None:
    ledger.write_bytes(b"")


@pytest.mark.parametrize("spoil", [rename, delete, empty])
def test_between_two_runs_no_new_ledger_is_begun_unasked(
    tmp_path: Path, service: Service, spoil: Callable[[Path], None]
) -> None:
    ledger = tmp_path / "ledgers" / "ledger.db"
    with serving(service.app()) as address:
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


def rename_folder_and_begin_another(ledger: Path) -> None:
    rename_folder(ledger)
    Ledger(ledger, "http://elsewhere.example").close()


def restore_older_copy(ledger: Path) -> None:
    with closing(sqlite3.connect(ledger)) as connection, connection:
        (last,) = connection.execute("SELECT max(attempt_id) FROM attempts").fetchone()
        connection.execute("DELETE FROM bodies WHERE attempt_id > ?", (last - 3,))
        connection.execute("DELETE FROM attempts WHERE attempt_id > ?", (last - 3,))


@pytest.mark.parametrize(
    ("spoil", "said", "parks"),
    [
        (rename_folder, "There is no ledger", False),
        (rename_folder, "There is no ledger", True),
        (rename_folder_and_begin_another, "is another ledger", False),
        (restore_older_copy, "or an older copy", False),
    ],
)
def test_an_output_tells_the_next_run_with_which_ledger_it_was_bought(
    tmp_path: Path, service: Service, spoil: Callable[[Path], None], said: str, parks: bool
) -> None:
    ledger, table, output = (tmp_path / name for name in ("ledgers/l.db", "in.csv", "out.csv"))
    table.write_text("\n".join(["description", *TEXTS]))
    with serving(service.app()) as address:
        terms = PaidService(address, service.account.key, ledger=ledger, rate="none")
        limited = dataclasses.replace(terms, max_cost=Decimal("0.0005")) if parks else terms
        buy = partial(pipeline.classify, table, systems="cpv", output=output, partial=True)
        buy(service=limited)
        bought = len(service.asked)
        named = tmp_path / "out.partial.csv" if parks else output
        assert named.exists()
        spoil(ledger)
        table.write_text("\n".join(["description", *TEXTS, "new"]))
        for use in (partial(pipeline.plan, table, output=output), buy):
            with pytest.raises(
                LedgerError, match=f"{said}.*for {named} were bought with the ledger {ledger}"
            ):
                use(service=terms)
        assert len(service.asked) == bought
        if not ledger.exists():
            assert not ledger.parent.exists(), "where the folder may be moved back"
        for old in tmp_path.glob("out*"):
            old.unlink()
        buy(service=terms)
    assert len(service.asked) > bought


@pytest.mark.parametrize("is_free_before", [False, True], ids=["at first", "after a free run"])
@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (rename_folder, "There is no ledger"),
        (rename_folder_and_begin_another, "is another ledger"),
        (restore_older_copy, "or an older copy"),
    ],
)
def test_a_run_that_parks_before_it_writes_an_output_names_its_ledger_too(
    tmp_path: Path,
    service: Service,
    spoil: Callable[[Path], None],
    said: str,
    is_free_before: bool,
) -> None:
    ledger, table, output = (tmp_path / name for name in ("ledgers/l.db", "in.csv", "out/o.csv"))
    table.write_text("\n".join(["description", *TEXTS]))
    buy = partial(pipeline.classify, table, systems="cpv", output=output)
    if is_free_before:
        buy()
    with serving(service.app()) as address:
        terms = PaidService(address, service.account.key, ledger=ledger, rate="none")
        with pytest.raises(ParkedError):
            buy(service=dataclasses.replace(terms, max_cost=Decimal("0.0005")))
        bought = len(service.asked)
        assert bought
        kept = output.read_bytes() if is_free_before else None
        spoil(ledger)
        with pytest.raises(LedgerError, match=said) as caught:
            buy(service=terms)
        assert f"answers for {output} were bought with the ledger {ledger}." in caught.value.message
        assert len(service.asked) == bought
        assert (output.read_bytes() if output.exists() else None) == kept
        elsewhere = output.with_name("elsewhere.csv")
        buy(service=terms, output=elsewhere)
    assert len(service.asked) > bought


def test_the_same_ledger_continues_a_run_that_parked_before_it_wrote_an_output(
    tmp_path: Path, service: Service
) -> None:
    table, output = tmp_path / "in.csv", tmp_path / "out.csv"
    table.write_text("\n".join(["description", *TEXTS]))
    buy = partial(pipeline.classify, table, systems="cpv", output=output)
    manifest = output.with_name("out.csv.manifest.json")
    with serving(service.app()) as address:
        terms = PaidService(address, service.account.key, ledger=tmp_path / "l.db", rate="none")
        with pytest.raises(ParkedError):
            buy(service=dataclasses.replace(terms, max_cost=Decimal("0.0005")))
        assert json.loads(manifest.read_text())["exit_state"] == "started"
        buy(service=terms)
    assert len(service.asked) == len(TEXTS)
    assert "parked" not in json.loads(manifest.read_text())


def test_nothing_is_asked_of_another_ledger_that_has_all_answers(
    tmp_path: Path, service: Service
) -> None:
    table, output = tmp_path / "in.csv", tmp_path / "out.csv"
    table.write_text("\n".join(["description", *TEXTS]))
    with serving(service.app()) as address:
        terms = PaidService(address, service.account.key, ledger=tmp_path / "a.db", rate="none")
        buy = partial(pipeline.classify, table, systems="cpv")
        buy(service=terms, output=output)
        other = dataclasses.replace(terms, ledger=tmp_path / "b.db")
        buy(service=other)
        buy(service=other, output=output)
        elsewhere = PaidService(f"{address}/api/", "", ledger=tmp_path / "c.db", max_cost=0)
        with pytest.raises(LedgerError, match="no ledger"):  # the address is the same one
            buy(service=elsewhere, output=output)
    assert len(service.asked) == 2 * len(TEXTS)


def test_the_command_line_misses_the_ledger_of_an_earlier_output(
    tmp_path: Path, service: Service
) -> None:
    ledger = tmp_path / "ledgers" / "ledger.db"
    (tmp_path / "in.csv").write_text("\n".join(["description", *TEXTS]))
    with serving(service.app()) as address:
        terms = ("--base-url", address, "--ledger", str(ledger), "--rate", "none")
        environment = {**os.environ, "TENDER_PIPELINE_API_KEY": service.account.key}
        command = ("in.csv", "--systems", "cpv", *terms)
        assert ran(["run", *command], cwd=tmp_path, env=environment).returncode == 0
        rename_folder(ledger)
        for does in ("plan", "run"):
            done = ran([does, *command], cwd=tmp_path, env=environment)
            assert done.returncode == 8
            assert "--ledger PATH" in done.stderr
    assert len(service.asked) == len(TEXTS)


def test_a_run_that_cannot_make_its_ledger_leaves_no_sign_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    the = buyer(tmp_path, "https://service.example", "key")
    with monkeypatch.context() as patched:
        patched.setattr("pipeline.paid.ledger.database.has_log", lambda *_: False)
        with pytest.raises(LedgerError, match="not on a local disk"):
            Purchase(the.service, the.settings, "job")
    the.service.ledger.unlink(missing_ok=True)
    with Purchase(the.service, the.settings, "job"):
        assert the.service.ledger.exists()


def test_a_copy_of_a_deleted_ledger_does_not_write_over_another(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with closing(Ledger(path, "http://service.example")) as ledger:
        path.with_name("ledger.db.rescued-1").write_text("kept")
        path.unlink()
        for _ in range(2):
            with pytest.raises(LedgerError, match="rescued-2"):
                ledger.check_place()
    assert path.with_name("ledger.db.rescued-1").read_text() == "kept"
    assert not path.with_name("ledger.db.rescued-3").exists()


def test_where_no_copy_can_be_made_it_says_that_all_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folder"
    with closing(Ledger(folder / "ledger.db", "http://service.example")) as ledger:
        shutil.rmtree(folder)
        monkeypatch.setattr(
            "pipeline.paid.ledger.place.machine_folder", lambda: tmp_path / "nowhere"
        )
        with pytest.raises(LedgerError, match=r"is lost: .*No such file"):
            ledger.check_place()


def test_a_run_that_sent_nothing_names_no_ledger(tmp_path: Path, service: Service) -> None:
    table, output = tmp_path / "in.csv", tmp_path / "out.csv"
    table.write_text("\n".join(["description", *TEXTS]))
    buy = partial(pipeline.classify, table, systems="cpv")
    with serving(service.app()) as address:
        terms = PaidService(address, service.account.key, ledger=tmp_path / "l.db", rate="none")
        with pytest.raises(ParkedError):
            buy(
                output=tmp_path / "other.csv",
                service=dataclasses.replace(terms, max_cost=Decimal("0.0005")),
            )
        with pytest.raises(ParkedError):
            buy(output=output, service=dataclasses.replace(terms, max_cost=Decimal("0")))
    assert not list(tmp_path.glob("out.csv*"))
