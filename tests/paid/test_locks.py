"""A purchase takes its locks before it sends anything; see test_one_buyer.py for real processes."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from pipeline.errors import LedgerError
from pipeline.paid.ledger.ledger import Ledger
from pipeline.paid.ledger.locks import buyer_lock, ledger_lock
from pipeline.paid.purchase import PaidBuyer
from tests.paid.serving import Buyer, Service


def held(user: Buyer, lock: str) -> AbstractContextManager[object]:
    """Return a lock that another run would hold."""
    service = user.service
    if lock == "ledger":
        Ledger(service.ledger, service.base_url).close()  # the lock is beside it
        return ledger_lock(service.ledger, service.base_url, wait=False)
    return buyer_lock(service.base_url, service.key_fingerprint, wait=False)


@pytest.mark.parametrize(
    ("lock", "message"),
    [
        ("key", "Another run is buying with this key"),
        ("ledger", "uses the ledger .* a run with another key"),
    ],
)
def test_while_another_run_holds_a_lock_nothing_is_sent(
    user: Buyer, service: Service, lock: str, message: str
) -> None:
    user.write(["one text", "another text"])
    with held(user, lock), pytest.raises(LedgerError, match=message):
        user.run()
    assert service.asked == []
    assert user.run().parked is None


def test_two_state_folders_on_one_ledger_are_no_way_around_the_lock_of_a_job(
    user: Buyer, tmp_path: Path, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    user.write(["one text", "another text"])
    with PaidBuyer(user.service).open(user.settings, str(user.output)):
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "elsewhere"))
        with pytest.raises(LedgerError, match="Another run works on this job"):
            user.run()
    assert service.asked == []
    assert user.run().parked is None
