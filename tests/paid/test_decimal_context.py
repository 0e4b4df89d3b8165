"""A notebook may set a decimal context of its own; it changes no amount."""

from __future__ import annotations

from decimal import Context, Decimal, Inexact, Rounded, localcontext
from pathlib import Path

import pyarrow as pa
import pytest

import pipeline
from pipeline.errors import ParkedError
from tests.paid.serving import Service

PRICE = Decimal("0.00019999999999999998")
ANSWER = (
    '{"success": true, "data": [{"code": "45000000", "title": "Works", "confidence": 0.5}], '
    '"metadata": {"costBreakdown": {"apiCost": 0.00015999999999999999, '
    f'"markupAmount": 0.00003999999999999999, "finalCost": {PRICE}}}}}}}'
)
ROWS = 60
LIMIT = Decimal("0.008")


@pytest.mark.parametrize(
    "context",
    [Context(prec=1), Context(prec=6), Context(prec=6, traps=[Inexact, Rounded])],
    ids=["one digit", "six digits", "no rounding"],
)
def test_the_callers_decimal_context_changes_no_amount(
    tmp_path: Path, service: Service, context: Context, address: str
) -> None:
    table = pa.table({"description": [f"text {number}" for number in range(ROWS)]})
    service.script = dict.fromkeys(range(ROWS), (200, {}, ANSWER))
    with localcontext(context):
        paid = pipeline.PaidService(
            address, "tp_0123456789", tmp_path / "ledger.db", rate="none", max_cost=LIMIT
        )
        plan = pipeline.plan(table, systems="cpv", service=paid).purchase
        assert (str(plan.low_usd), str(plan.high_usd)) == ("0.00420", "0.00900")
        assert "enough for 53 calls, perhaps for all" in str(plan)
        with pytest.raises(ParkedError, match="The cost limit is reached") as parked:
            pipeline.classify(table, systems="cpv", service=paid)
    assert service.requests == 40
    assert str(parked.value.cost_usd) == "0.00799999999999999920"
    assert "the 20 calls left cost up to 0.0039999999999999996 USD" in str(parked.value)
