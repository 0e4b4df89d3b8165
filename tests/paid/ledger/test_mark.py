"""What a manifest says of its ledger is only compared: it may be damaged, or changed by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import LedgerError
from pipeline.paid.ledger.journal import Journal
from pipeline.paid.ledger.ledger import Ledger
from pipeline.paid.ledger.mark import LedgerMark, Marked, check_there, marks_in
from tests.paid.ledger.buying import BASE_URL, buy


def marked(**changes: Any) -> list[Marked]:
    values = {"path": "/ledgers/l.db", "last_attempt": 1, "sent_at": 1_000.0} | changes
    manifest = {"service": BASE_URL, "ledger": values}
    return marks_in([(Path("out.csv"), manifest)], BASE_URL)


def test_the_note_of_a_parked_run_is_for_its_service_alone() -> None:
    mark = LedgerMark("/ledgers/l.db", 1, 1_000.0)
    manifest = mark.while_parked(BASE_URL)
    for base_url, found in ((BASE_URL, [mark]), ("http://other.example", [])):
        marks = marks_in([(Path("out.csv"), manifest)], base_url)
        assert [each for _, each in marks] == found


@pytest.mark.parametrize("number", [2, 0, -1, 2**63, -(2**63) - 1, 10**30])
def test_an_attempt_that_no_ledger_can_have_is_of_another_one(
    ledger: Ledger, journal: Journal, number: int
) -> None:
    buy(journal)
    ledger.check_marks(marked())
    with pytest.raises(LedgerError, match="another ledger"):
        ledger.check_marks(marked(last_attempt=number))


def test_the_path_in_a_manifest_does_not_control_the_terminal(ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match=r"the ledger /old l\.db\. This") as caught:
        ledger.check_marks(marked(path="/old\x1b\n\ud800l.db"))
    assert caught.value.message.isprintable()


def test_a_ledger_with_an_impossible_path_is_no_unexpected_error(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 300)
    with pytest.raises(LedgerError):
        check_there(path, marked())
        Ledger(path, BASE_URL)
