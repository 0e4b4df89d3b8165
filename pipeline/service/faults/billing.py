"""Tells who asked for it what a request was charged."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from decimal import Decimal

from pipeline.answers import System
from pipeline.service.accounts import Accounts

__all__ = ["MeteredAccounts", "metered"]

_charged: ContextVar[list[Decimal] | None] = ContextVar("charged", default=None)


class MeteredAccounts(Accounts):
    """Accounts whose charges are told to the request that they are for."""

    def charge(self, account: int | None, system: System, price: Decimal) -> bool:
        """Take a price from a balance; see `Accounts.charge`."""
        covered = super().charge(account, system, price)
        charged = _charged.get()
        if covered and charged is not None:
            charged.append(price)
        return covered


@contextmanager
def metered() -> Iterator[list[Decimal]]:
    """Gather what is charged in this block, in the threads that it starts too."""
    charged: list[Decimal] = []
    token = _charged.set(charged)
    try:
        yield charged
    finally:
        _charged.reset(token)
