from __future__ import annotations

import fcntl
import subprocess
from io import FileIO
from pathlib import Path

import pytest

from pipeline.errors import LedgerError
from pipeline.files.paths import machine_folder
from pipeline.paid.ledger import locks
from pipeline.paid.ledger.ledger import Ledger
from pipeline.paid.ledger.locks import buyer_lock, is_worked_on, job_lock, ledger_lock
from tests.forking import Process
from tests.paid.ledger.buying import BASE_URL, FINGERPRINT


def test_a_second_buyer_with_the_same_key_is_refused_until_the_first_has_ended() -> None:
    with (
        buyer_lock(BASE_URL, FINGERPRINT, wait=False),
        pytest.raises(LedgerError, match=r"^Another run is buying with this key\..*--wait"),
        buyer_lock(BASE_URL, FINGERPRINT, wait=False),
    ):
        pass
    with buyer_lock(BASE_URL, FINGERPRINT, wait=False):
        pass


def test_a_second_buyer_for_the_same_ledger_by_any_path_and_for_any_user_is_refused(
    path: Path, ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another user's"))
    with ledger_lock(path, BASE_URL, wait=False):
        with pytest.raises(LedgerError) as caught, ledger_lock(link, BASE_URL, wait=False):
            pass
        with ledger_lock(path, "http://localhost:8000", wait=False):
            pass
    said = f"Another process uses the ledger {link} for {BASE_URL}: a run with another key, "
    assert caught.value.message.startswith(said)
    assert "--wait" in caught.value.hint
    assert "another ledger: --ledger" in caught.value.hint
    with ledger_lock(path, BASE_URL, wait=False):
        pass


def test_a_look_at_the_lock_of_a_job_holds_up_no_run(
    path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of ``ledger jobs``, which locks it for a moment, too."""
    looks = [BlockingIOError]

    def looked_at(file: FileIO, how: int) -> None:
        if how & fcntl.LOCK_EX and looks:
            raise looks.pop()
        fcntl.flock(file, how)

    monkeypatch.setattr(locks, "flock", looked_at)
    with job_lock(path, BASE_URL, "tenders", wait=False):
        assert is_worked_on(path, BASE_URL, "tenders")
    assert not looks


def test_anyone_who_may_write_the_ledger_may_take_its_lock(path: Path, ledger: Ledger) -> None:
    path.chmod(0o664)
    with ledger_lock(path, BASE_URL, wait=False):
        (lock,) = path.parent.glob("*.lock")
        assert lock.stat().st_mode & 0o777 == 0o664
    assert "example" not in lock.name


def test_other_keys_and_endpoints_do_not_wait() -> None:
    with (
        buyer_lock(BASE_URL, FINGERPRINT, wait=False),
        buyer_lock(BASE_URL, "key-2", wait=False),
        buyer_lock("http://localhost:8000", FINGERPRINT, wait=False),
    ):
        pass


def test_neither_the_key_nor_the_address_is_in_a_files_name() -> None:
    with buyer_lock(BASE_URL, "secret", wait=False):
        names = [place.name for place in machine_folder().rglob("*")]
    assert names
    assert not [name for name in names if "secret" in name or "example" in name]


def test_a_place_that_cannot_hold_locks_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.raises(LedgerError) as caught, buyer_lock(BASE_URL, FINGERPRINT, wait=True):
        pass
    assert "HOME" in caught.value.hint
    ledger = tmp_path / "file" / "ledger.db"
    with pytest.raises(LedgerError) as caught, job_lock(ledger, BASE_URL, "tenders", wait=True):
        pass
    assert "--ledger PATH" in caught.value.hint


INTERRUPTED = """
import sys
from contextlib import closing
from itertools import count
from pathlib import Path
from pipeline.paid.ledger import database, locks
from pipeline.paid.ledger.locks import buyer_lock

place = Path("ledger.db")
ledger = database.Database(place)  # the others open faster: its log stays


class InterruptAt:
    '''Raises `KeyboardInterrupt` before the n-th instruction of a block in the package.'''

    def __init__(self, moment):
        self.left = moment

    def __enter__(self):
        sys.settrace(self.trace)

    def __exit__(self, *_):
        sys.settrace(None)

    def trace(self, frame, event, _):
        if not frame.f_code.co_filename.endswith(TRACED):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            self.left -= 1
            if self.left == 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self.trace


def lock():
    return buyer_lock("https://service.example", "key", wait=False)


def in_lock(interrupt):
    with interrupt, lock():
        pass


def in_transaction(interrupt):
    with closing(database.Database(place)) as opened, interrupt:
        with opened.transaction() as connection:
            connection.execute("DELETE FROM jobs")


def check_lock():
    with lock():
        pass


def check_transaction():
    with ledger.transaction():
        pass


database.PATIENCE_S = 0.0
for work, check, TRACED in (
    (in_lock, check_lock, ("contextlib.py", locks.__file__)),
    (in_transaction, check_transaction, ("contextlib.py", database.__file__)),
):
    for moment in count(1, 2):  # every second one, to save time
        interrupt = InterruptAt(moment)
        try:
            work(interrupt)
        except KeyboardInterrupt:
            pass
        try:
            check()
        except Exception as error:
            sys.exit(f"{work.__name__}, instruction {moment}: {error}")
        if interrupt.left > 0:
            break
    print(moment)
"""


def test_an_interrupt_at_any_moment_leaves_nothing_locked(tmp_path: Path) -> None:
    process = Process(
        [INTERRUPTED],
        call="tests.forking:script",
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        out, err = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        pytest.fail("it hangs")
    assert (process.returncode, err) == (0, "")
    assert all(int(moments) > 100 for moments in out.split())
