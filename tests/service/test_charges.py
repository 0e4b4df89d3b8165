"""What a call costs, who pays it, and what costs nothing."""

from __future__ import annotations

import pytest

from pipeline.paid.client.outcomes import Answered
from pipeline.paid.client.responses import read_response
from pipeline.rate import Rate
from pipeline.service.accounts import Accounts
from pipeline.service.app import create_app
from pipeline.service.http.messages import Metadata
from tests.service.conftest import SCRIPTED, Caller, VirtualClock, envelope, exact

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("form", "stated"),
    [
        (
            "detailed",
            {
                "costBreakdown": {
                    "apiCost": 0,
                    "markupPercentage": 50,
                    "markupAmount": 0,
                    "finalCost": 0,
                    "currency": "USD",
                }
            },
        ),
        ("compact", {"cost": {"apiCost": 0}}),
    ],
)
async def test_a_demo_call_states_the_price_0_and_nobody_pays(
    accounts: Accounts, form: Metadata, stated: object
) -> None:
    account = accounts.open()
    response = await Caller(create_app(accounts, SCRIPTED, metadata=form)).match()
    body = exact(response)
    assert body["metadata"] == stated
    assert [item.get("cost", 0) for item in body["data"]] == [0, 0]
    read = read_response(200, {}, response.content)
    assert isinstance(read, Answered)
    assert read.cost_usd == 0, "a price that a run can use"
    assert accounts.statement.charges() == []
    assert accounts.balance(account.account_id) == 5


async def test_a_request_that_is_not_valid_counts_but_costs_nothing(
    accounts: Accounts, clock: VirtualClock
) -> None:
    account = accounts.open()
    app = create_app(accounts, SCRIPTED, key_rate=Rate(1, 60))
    caller = Caller(app, account.key)
    assert envelope(await caller.match("  ")) == (400, "VALIDATION_ERROR")
    assert envelope(await caller.match()) == (429, "RATE_LIMIT_EXCEEDED")
    assert accounts.balance(account.account_id) == 5
