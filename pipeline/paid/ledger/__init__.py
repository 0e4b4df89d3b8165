"""The ledger: every attempt before it is sent, every answer and price after; one SQLite file."""

from pipeline.paid.ledger.calls import (
    AttemptEnd,
    Call,
    CallEnded,
    CallOpen,
    Cost,
    Found,
    Owned,
    PassingState,
    PastAttempt,
    RateRefusal,
    text_digest,
    text_digests,
)
from pipeline.paid.ledger.job import CallCount, Counting, Job
from pipeline.paid.ledger.journal import Journal
from pipeline.paid.ledger.ledger import Ledger, Prices
from pipeline.paid.ledger.locks import buyer_lock, job_lock, ledger_lock
from pipeline.paid.ledger.mark import LedgerReference, OutputReference
from pipeline.paid.ledger.totals import Tally

__all__ = [
    "AttemptEnd",
    "Call",
    "CallCount",
    "CallEnded",
    "CallOpen",
    "Cost",
    "Counting",
    "Found",
    "Job",
    "Journal",
    "Ledger",
    "LedgerReference",
    "OutputReference",
    "Owned",
    "PassingState",
    "PastAttempt",
    "Prices",
    "RateRefusal",
    "Tally",
    "buyer_lock",
    "job_lock",
    "ledger_lock",
    "text_digest",
    "text_digests",
]
