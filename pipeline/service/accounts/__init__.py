"""The accounts of a service: balances, statements, API keys and sessions."""

from pipeline.service.accounts.accounts import (
    STARTING_BALANCE,
    Account,
    Accounts,
    Opened,
    canonical_email,
)
from pipeline.service.accounts.audit import Audit
from pipeline.service.accounts.charging import Due
from pipeline.service.accounts.database import row_number
from pipeline.service.accounts.hashing import Passwords
from pipeline.service.accounts.keys import ApiKey, Holder, Keys, NewKey
from pipeline.service.accounts.schema import FILE
from pipeline.service.accounts.sessions import LIFETIME, Sessions
from pipeline.service.accounts.statement import DailyUse, Entry, Statement, check_amount
from pipeline.service.accounts.statement_csv import statement_csv

__all__ = [
    "FILE",
    "LIFETIME",
    "STARTING_BALANCE",
    "Account",
    "Accounts",
    "ApiKey",
    "Audit",
    "DailyUse",
    "Due",
    "Entry",
    "Holder",
    "Keys",
    "NewKey",
    "Opened",
    "Passwords",
    "Sessions",
    "Statement",
    "canonical_email",
    "check_amount",
    "row_number",
    "statement_csv",
]
