"""The ledger: every attempt before it is sent, every answer and price after; one SQLite file."""

from pipeline.ledger.buyer import buyer_lock, job_lock, ledger_lock
from pipeline.ledger.calls import Call, Owned, text_digest
from pipeline.ledger.counting import Counting
from pipeline.ledger.job import CallCount, Job
from pipeline.ledger.journal import CallEnded, CallOpen, Journal, Restraint, Settlement
from pipeline.ledger.ledger import Ledger, Prices
from pipeline.ledger.limits import Limits
from pipeline.ledger.money import JobMoney
from pipeline.ledger.past import Lesson, PastAttempt
from pipeline.ledger.room import Reserve, reserved
from pipeline.ledger.settling import Verdict

__all__ = [
    "Call",
    "CallCount",
    "CallEnded",
    "CallOpen",
    "Counting",
    "Job",
    "JobMoney",
    "Journal",
    "Ledger",
    "Lesson",
    "Limits",
    "Owned",
    "PastAttempt",
    "Prices",
    "Reserve",
    "Restraint",
    "Settlement",
    "Verdict",
    "buyer_lock",
    "job_lock",
    "ledger_lock",
    "reserved",
    "text_digest",
]
