"""What people decided is not bought, and what was bought before is still accounted for."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

from pipeline.classification import job
from pipeline.classification.corrections import decisions_in
from pipeline.classification.file_sink import FileSink
from pipeline.classification.source import Source
from pipeline.classification.summary import Summary
from pipeline.decisions import Decisions
from pipeline.paid.purchase import PaidBuyer
from pipeline.tables import open_reader
from tests.decisions.samples import chose, nothing_fits, write
from tests.paid.purchases import some, statuses
from tests.paid.serving import Buyer, Service

TEXTS = ["road works", "", "office chairs", "road works", "school meals"]


def run(user: Buyer, decisions: Decisions) -> Summary:
    reader = open_reader(user.source, user.settings.text_columns)
    with PaidBuyer(user.service).open(
        user.settings, str(user.output), decisions=decisions
    ) as purchase:
        sink = FileSink(user.output, "csv", True, user.source)
        return job.run(Source(reader, user.source), sink, user.settings, purchase)


def planned(user: Buyer, decisions: Decisions) -> int:
    with PaidBuyer(user.service).open(
        user.settings, "a plan", plan_only=True, decisions=decisions
    ) as purchase:
        reader = open_reader(user.source, user.settings.text_columns)
        return job.plan(Source(reader), user.settings, purchase).purchase.to_buy


def test_a_decided_text_is_neither_planned_nor_bought(
    user: Buyer, tmp_path: Path, service: Service
) -> None:
    path = write(tmp_path / "d.jsonl", [chose("road works", "45233140"), nothing_fits("gone")])
    decisions = decisions_in(path, print)
    user.write(TEXTS)
    assert planned(user, decisions) == 5
    summary = run(user, decisions)
    assert ("cpv", "road works") not in service.asked
    assert sorted(service.asked).count(("psc", "road works")) == 1
    assert len(service.asked) == 5
    assert statuses(user, "cpv") == ["decided", "empty", "ok", "decided", "ok"]
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
    assert run(user.but(max_cost=Decimal("0.00016")), Decisions()).parked is not None
    assert service.asked[0] == ("cpv", "road works")
    summary = run(user, decisions)
    assert statuses(user, "cpv")[0] == "decided"
    assert Decimal(user.rows()[0]["cpv_cost_usd"]) > 0
    assert some(summary.paid).unattributed_usd == 0
    assert summary.cost_usd == user.row_costs() == service.charged
