"""Buying: an async pool sends the calls that the ledger cannot answer yet."""

from pipeline.paid.estimate import Estimate
from pipeline.paid.purchase import Purchase
from pipeline.paid.service import PaidService

__all__ = ["Estimate", "PaidService", "Purchase"]
