"""Texts to buy codes for, and the sums that must agree afterwards."""

from __future__ import annotations

from decimal import Decimal
from typing import TypeVar

from tests.paid.serving import (
    Buyer,
    Service,
)

TEXTS = ["road works", "", "office chairs and desks", "road works", "a b c d", "school meals"]


T = TypeVar("T")


def some(value: T | None) -> T:
    """Return a value that must not be None."""
    assert value is not None
    return value


def check_money(user: Buyer, service: Service) -> None:
    """The rows, the charges and what the account lost are one amount."""
    assert user.row_costs() == service.charged
    balance = service.accounts.balance(service.account.account_id)
    assert Decimal("5.00") - balance == service.charged


def statuses(user: Buyer, system: str = "cpv") -> list[str]:
    """Return the status of each row of the output."""
    return [row[f"{system}_status"] for row in user.rows()]
