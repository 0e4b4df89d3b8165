"""The ledger: every attempt before it is sent, every answer and price after; one SQLite file."""

from pipeline.ledger.buyer import buyer_lock
from pipeline.ledger.calls import Call, Owned, text_digest
from pipeline.ledger.job import CallCount, Job
from pipeline.ledger.journal import CallEnded, CallOpen, Journal, Settlement
from pipeline.ledger.ledger import Ledger, PastAttempt, Prices
from pipeline.ledger.money import JobMoney

__all__ = [
    "Call",
    "CallCount",
    "CallEnded",
    "CallOpen",
    "Job",
    "JobMoney",
    "Journal",
    "Ledger",
    "Owned",
    "PastAttempt",
    "Prices",
    "Settlement",
    "buyer_lock",
    "text_digest",
]
