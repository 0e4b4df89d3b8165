"""Buying: an async pool sends the calls that the ledger cannot answer yet."""

from pipeline.buy.paid_service import PaidService
from pipeline.buy.purchase import Purchase
from pipeline.buy.terms import Estimate, PurchaseSettings

__all__ = ["Estimate", "PaidService", "Purchase", "PurchaseSettings"]
