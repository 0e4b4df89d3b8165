"""Buying from language models: one code of twenty or none, with exact money."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

from pipeline.answers import Matched
from pipeline.classification.summary import Summary
from pipeline.engine import Engine
from pipeline.paid.ledger.snapshot import Snapshot
from pipeline.paid.verify import problems
from tests.paid.chat_server import DISTINCT, TEXTS, ChatServer, chatting
from tests.paid.purchases import statuses
from tests.paid.serving import Buyer

KEY = "sk-0123456789abcdef"
ZERO = Decimal(0)


def candidates(text: str, system: str = "cpv") -> list[str]:
    """Return the codes that the engine finds for a text."""
    (answers,) = Engine((system,), top=20).answers([[text]])  # type: ignore[arg-type]
    (answer,) = answers[system]  # type: ignore[index]
    assert isinstance(answer, Matched)
    return [match.code for match in answer.matches]


def check_books(server: ChatServer, user: Buyer, summary: Summary) -> None:
    """The server's books are what was confirmed and its price of what is unknown."""
    paid = summary.paid
    assert paid is not None
    assert paid.confirmed_usd == server.told
    unsure = server.charged - server.told
    assert ZERO <= unsure <= paid.at_risk_usd
    assert bool(unsure) == bool(paid.at_risk_usd)
    with Snapshot(user.service.ledger) as ledger:
        assert [*problems(ledger)] == []


def test_the_chosen_code_is_written_and_the_others_follow(tmp_path: Path) -> None:
    server = ChatServer(KEY, {"Maintenance of lifts": "C", "Software": "none"})
    with chatting(tmp_path, server) as user:
        summary = user.run()
        assert user.row_costs() == server.charged > 0
        again = user.run()
    check_books(server, user, summary)
    assert len(server.asked) == 2 * DISTINCT  # two systems, and nothing is bought twice
    assert again.paid is not None and again.paid.attempts == 0
    rows = user.rows()
    assert rows[0]["cpv_code"] == candidates(TEXTS[0])[2]
    assert rows[3]["cpv_code"] == rows[0]["cpv_code"]
    assert rows[2]["psc_code"] == candidates(TEXTS[2], "psc")[0]
    assert statuses(user) == ["ok", "empty", "ok", "ok", "no_match"]
    assert rows[0]["cpv_confidence"] == "0.9"
