"""Buying: an async pool sends the calls that the ledger cannot answer yet."""

from pipeline.paid.purchase import Purchase
from pipeline.paid.service import PaidService
from pipeline.paid.terms import Estimate, PurchaseSettings

__all__ = ["Estimate", "PaidService", "Purchase", "PurchaseSettings"]
