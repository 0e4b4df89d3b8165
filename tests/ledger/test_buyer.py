from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from threading import Thread

import platformdirs
import pytest

from pipeline.errors import LedgerError
from pipeline.ledger import buyer_lock
from tests.ledger.buying import ACCOUNT, ENDPOINT

HOLD = """
import sys
from pipeline.ledger import buyer_lock

with buyer_lock(sys.argv[1], sys.argv[2], wait=False):
    print("buying", flush=True)
    sys.stdin.read()
"""


def test_a_second_buyer_with_the_same_key_is_refused_until_the_first_is_done() -> None:
    command = [sys.executable, "-c", HOLD, ENDPOINT, ACCOUNT]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "buying\n"
        with pytest.raises(LedgerError) as caught, buyer_lock(ENDPOINT, ACCOUNT, wait=False):
            pass
        process.kill()
    assert caught.value.message == "Another run is buying with this key."
    assert "--wait" in caught.value.hint
    with buyer_lock(ENDPOINT, ACCOUNT, wait=False):
        pass


def test_other_keys_and_endpoints_do_not_wait() -> None:
    with (
        buyer_lock(ENDPOINT, ACCOUNT, wait=False),
        buyer_lock(ENDPOINT, "key-2", wait=False),
        buyer_lock("http://localhost:8000", ACCOUNT, wait=False),
    ):
        pass


def test_a_buyer_that_waits_begins_when_the_first_is_done() -> None:
    order: list[str] = []

    def second() -> None:
        with buyer_lock(ENDPOINT, ACCOUNT, wait=True):
            order.append("second")

    with buyer_lock(ENDPOINT, ACCOUNT, wait=False):
        thread = Thread(target=second)
        thread.start()
        thread.join(0.1)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


def test_an_error_while_buying_lets_the_lock_go() -> None:
    with pytest.raises(KeyError), buyer_lock(ENDPOINT, ACCOUNT, wait=False):
        raise KeyError
    with buyer_lock(ENDPOINT, ACCOUNT, wait=False):
        pass


def test_neither_the_key_nor_the_address_stands_in_a_files_name() -> None:
    with buyer_lock(ENDPOINT, "secret", wait=False):
        names = [place.name for place in platformdirs.user_state_path("tender-pipeline").rglob("*")]
    assert names
    assert not [name for name in names if "secret" in name or "example" in name]


def test_a_place_that_cannot_hold_locks_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.raises(LedgerError) as caught, buyer_lock(ENDPOINT, ACCOUNT, wait=True):
        pass
    assert "XDG_STATE_HOME" in caught.value.hint
