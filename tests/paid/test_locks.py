"""A purchase takes its locks before it sends anything, so that no text is bought twice."""

from __future__ import annotations

import subprocess
from collections import Counter
from contextlib import AbstractContextManager
from decimal import Decimal
from pathlib import Path

import pytest

from pipeline.errors import LedgerError
from pipeline.paid.ledger.ledger import Ledger
from pipeline.paid.ledger.locks import buyer_lock, ledger_lock
from tests.paid.serving import Buyer, Service, Sluice, buyer, serving, started


def held(user: Buyer, lock: str) -> AbstractContextManager[object]:
    """Return a lock that another run would hold."""
    service = user.service
    if lock == "job":
        return user.open()
    if lock == "ledger":
        Ledger(service.ledger, service.base_url).close()  # the lock is beside it
        return ledger_lock(service.ledger, service.base_url, wait=False)
    return buyer_lock(service.base_url, service.key_fingerprint, wait=False)


@pytest.mark.parametrize(
    ("lock", "message"),
    [
        ("key", "Another run is buying with this key"),
        ("ledger", "uses the ledger .* a run with another key"),
        ("job", "Another run works on this job"),
    ],
)
def test_while_another_run_holds_a_lock_nothing_is_sent(
    user: Buyer, service: Service, lock: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two folders for state are no way around it."""
    user.write(["one text", "another text"])
    with held(user, lock):
        monkeypatch.setenv("XDG_STATE_HOME", "/elsewhere")
        with pytest.raises(LedgerError, match=message):
            user.run()
    assert service.asked == []
    assert user.run().parked is None


TEXTS = ["one text", "two text", "three text"]


def test_one_that_waits_finds_everything_bought(tmp_path: Path, service: Service) -> None:
    """It has another key, and the ledger of the first one."""
    latch, other = Sluice(service.app(), 0), service.accounts.open(Decimal("5.00"))
    ledger, folders = tmp_path / "ledger.db", [tmp_path / "first", tmp_path / "second"]
    with serving(latch) as address:
        for folder in folders:
            folder.mkdir()
            buyer(folder, address, None).write(TEXTS)
        with started(folders[0], address, service.account.key, ledger=ledger) as first:
            try:
                assert latch.reached.wait(20)
                with started(
                    folders[1], address, other.key, subprocess.PIPE, ledger=ledger, wait=True
                ) as waiting:
                    assert waiting.stderr is not None
                    assert any("Waiting for it." in line for line in waiting.stderr)
                    latch.open()
                    assert first.wait(20) == waiting.wait(20) == 0
            finally:
                latch.open()
                first.kill()
    assert set(Counter(service.asked).values()) == {1}
    assert len(service.asked) == 2 * len(TEXTS)
    payers = {charge.account_id for charge in service.accounts.statement.charges()}
    assert payers == {service.account.account_id}
    assert buyer(folders[1], address, None).row_costs() == 0
