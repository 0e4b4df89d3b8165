"""What people decided is not bought, and what was bought before is still accounted for."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

from pipeline.classification.corrections import decisions_in
from tests.decisions.samples import chose, nothing_fits, write
from tests.paid.serving import Buyer, Service, some

TEXTS = ["road works", "", "office chairs", "road works", "school meals"]


def test_a_decided_text_is_neither_planned_nor_bought(
    user: Buyer, tmp_path: Path, service: Service
) -> None:
    path = write(tmp_path / "d.jsonl", [chose("road works", "45233140"), nothing_fits("gone")])
    decisions = decisions_in(path, print)
    user.write(TEXTS)
    assert user.plan(decisions).to_buy == 5
    summary = user.run(decisions)
    assert ("cpv", "road works") not in service.asked
    assert sorted(service.asked).count(("psc", "road works")) == 1
    assert len(service.asked) == 5
    assert user.statuses("cpv") == ["decided", "empty", "ok", "decided", "ok"]
    assert user.rows()[0]["cpv_code"] == "45233140"
    assert user.rows()[0]["cpv_cost_usd"] == "0"
    assert summary.cost_usd == user.row_costs() == service.charged > 0
    assert summary.failed == 0


def test_an_answer_that_was_bought_before_the_decision_keeps_its_cost_in_its_row(
    user: Buyer, tmp_path: Path, service: Service
) -> None:
    """The first run stops at its limit of costs; the decision comes before the second one."""
    decisions = decisions_in(write(tmp_path / "d.jsonl", [nothing_fits("road works")]), print)
    user = user.but(workers=1)
    user.write(TEXTS)
    assert user.but(max_cost=Decimal("0.00016")).run().parked is not None
    assert service.asked[0] == ("cpv", "road works")
    summary = user.run(decisions)
    assert user.statuses("cpv")[0] == "decided"
    assert Decimal(user.rows()[0]["cpv_cost_usd"]) > 0
    assert some(summary.paid).unattributed_usd == 0
    assert summary.cost_usd == user.row_costs() == service.charged
