"""Makes attempts for the tests of the checks."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

from tests.money_trail.books import Attempt

USD = Decimal("0.000105")
"""The price of an answer."""


def attempt(number: int, sent_at: float, state: str = "answered", **but: Any) -> Attempt:
    """Return an attempt at a text of its own that took a second."""
    digest = bytes([number])
    usual = Attempt(
        number, 1, "cpv", digest, sent_at, sent_at + 1, state, None, USD, Decimal("0.0003")
    )
    return replace(usual, **({} if state == "answered" else {"cost_usd": None}) | but)
